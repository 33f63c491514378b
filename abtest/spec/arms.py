"""What an experiment file says of images and arms."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, WithJsonSchema, model_validator

from abtest.spec.fields import Arguments, Environment, Md5, Section, Target, Text, problem


class Image(Section):
    """Where trials run: the host's own stack, a recipe that is built, or a reference."""

    build: Text | None = None
    ref: Text | None = None

    @property
    def kind(self) -> Literal["host", "build", "ref"]:
        if self.build is not None:
            return "build"
        return "host" if self.ref is None else "ref"

    @model_validator(mode="before")
    @classmethod
    def _from_word(cls, value: object) -> object:
        if value == "host":
            return {}
        if isinstance(value, Mapping) and len(value) == 1:
            return value
        raise problem(
            f"{value!r} is not an image", "Write `host`, `{build: DIR}` or `{ref: NAME}`."
        )


IMAGE_SCHEMA: dict[str, Any] = {
    "description": "Where trials run: the host's own stack, a recipe that is built, or a reference.",
    "anyOf": [
        {"const": "host"},
        *(
            {
                "type": "object",
                "properties": {kind: {"type": "string"}},
                "required": [kind],
                "additionalProperties": False,
            }
            for kind in ("build", "ref")
        ),
    ],
}


class Replacement(Section):
    """One exact replacement in the image's own file; `old` must occur exactly once."""

    old: Annotated[str, StringConstraints(min_length=1)]
    new: str


class Git(Section):
    """A file of a repository: a commit is looked up once per run, and recorded."""

    repo: Text = Field(description="URL, or a folder below this file's own or by its absolute path")
    ref: Text = Field(description="branch, tag, commit, or pull/NNN/head")
    path: Text | None = Field(
        None, description="the file in the repository; null = the target's own path"
    )

    @model_validator(mode="after")
    def _no_options(self) -> Self:
        for value in (self.repo, self.ref, self.path or ""):
            if value.startswith("-"):
                raise problem(f"{value!r} begins with '-'", "Write a name, not an option.")
        return self


class Source(Section):
    """Where one file's bytes come from; with none of the four it is the image's own file."""

    file: Text | None = Field(
        None, description="a file of this experiment that takes the target's place"
    )
    patch: Text | None = Field(
        None,
        description="a unified diff against the image's own file; applies exactly or not at all",
    )
    replace: tuple[Replacement, ...] = Field(
        (), description="exact replacements in the image's own file"
    )
    git: Git | None = Field(None, description="a file of a git repository")
    base_md5: Md5 | None = Field(None, description="refuse unless the image's file has this md5")
    md5: Md5 | None = Field(None, description="refuse unless the arm's file has this md5")

    @property
    def kinds(self) -> tuple[str, ...]:
        """Name the sources that are given."""
        return tuple(name for name in ("file", "patch", "replace", "git") if getattr(self, name))

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if len(self.kinds) > 1:
            raise problem(
                f"{' and '.join(self.kinds)} stand together",
                "A file has one source: keep one of them.",
            )
        return self


class FileChange(Source):
    """One of several files that an arm changes."""

    target: Target


class Arm(Source):
    """One version of what is compared; empty means the image's own file."""

    files: tuple[FileChange, ...] = Field((), description="a change of several files")
    image: Annotated[Image, WithJsonSchema(IMAGE_SCHEMA)] | None = Field(
        None, description="an image of this arm's own"
    )
    env: Environment = Field(default_factory=dict, description="variables of this arm")
    args: Arguments = Field(default_factory=dict, description="engine arguments of this arm")

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        targets = [change.target for change in self.files]
        if self.files and (self.kinds or self.base_md5 or self.md5):
            raise problem(
                "files stands together with a single file's keys",
                "Move them into an entry of `files`, with its target.",
            )
        if len(set(targets)) != len(targets):
            raise problem("two entries of files have one target", "Name each target once.")
        return self

    def sources(self, target: str) -> dict[str, Source]:
        """Tell the source of every file that this arm names.

        Args:
            target: the experiment's target, which a single file stands for.
        """
        if self.files:
            return {change.target: change for change in self.files}
        return {target: self}
