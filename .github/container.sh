#!/bin/sh
# Runs a command in a container that has neither Node nor Rust, or only one of them, after putting them there: Alpine for
# musl, manylinux for a glibc as old as Node's own.
set -eu
if command -v apk > /dev/null; then
  apk add --no-cache build-base curl git
fi
if ! command -v node > /dev/null; then
  case "$(uname -m)" in
    x86_64) arch=x64 ;;
    aarch64) arch=arm64 ;;
  esac
  base=https://nodejs.org/dist/latest-v22.x
  curl -fsSL "$base/SHASUMS256.txt" | grep "linux-$arch.tar.xz$" > /tmp/node.sha256
  archive=$(awk '{ print $2 }' /tmp/node.sha256)
  (cd /tmp && curl -fsSLO "$base/$archive" && sha256sum -c node.sha256 && tar -xJf "$archive" -C /usr/local --strip-components=1)
fi
curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal --default-toolchain stable
. "$HOME/.cargo/env"
git config --global --add safe.directory "$PWD"
exec "$@"
