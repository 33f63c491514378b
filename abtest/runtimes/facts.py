"""A survey's answer, turned into the facts of an image."""

import base64
from collections.abc import Mapping
from typing import Any

from abtest.errors import InfrastructureError
from abtest.model.sandbox import ImageFacts, ImageKind, TargetFacts


def image_facts(
    kind: ImageKind, image_id: str, digest: str | None, answer: Mapping[str, Any]
) -> ImageFacts:
    """Read a survey's answer.

    Raises:
        InfrastructureError: the answer does not have the form that was agreed with the probe.
    """
    try:
        return ImageFacts(
            kind=kind,
            image_id=image_id,
            image_digest=digest,
            python=str(answer["python"]["executable"]),
            targets=tuple(_target(target) for target in answer["targets"]),
            fingerprint={str(name): str(value) for name, value in answer["fingerprint"].items()},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InfrastructureError(
            f"the survey's answer cannot be read: {type(error).__name__}: {error}",
            remedy="Report this as a bug.",
        ) from error


def _target(value: Mapping[str, Any]) -> TargetFacts:
    return TargetFacts(
        target=str(value["target"]),
        path=str(value["path"]),
        package_root=str(value["package_root"]),
        content=base64.b64decode(value["content_b64"], validate=True),
        md5=str(value["md5"]),
        sha256=str(value["sha256"]),
        copies=tuple(map(str, value["copies"])),
        real_path=str(value["real_path"]),
    )
