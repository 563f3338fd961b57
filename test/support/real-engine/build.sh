#!/usr/bin/env bash
# Builds a real llama-server (C++, llama.cpp) and a tiny random-weight model, once per set of pins, outside the checkout.
#
#   build.sh           builds what is missing, then prints the folder that holds `llama-server` and `tiny.gguf`
#   build.sh --where   only prints that folder; fails when it is not complete
#
# Needs python3 (with venv and pip) and a C++ compiler. The first time takes about five minutes and 1.5 GB on two
# cores, of which 16 MB are kept; later calls return at once. An interrupted build goes on where it stopped. Several
# calls at a time are safe: one builds, the others wait for it.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
say() { echo "real engine: $*" >&2; }

command -v python3 >/dev/null || { say 'python3 is needed to build llama-server and was not found'; exit 1; }

# The key covers all that decides the result: the machine, the pins, the model and these steps.
key=$(cd "$here" && python3 - build.sh requirements.txt sources.txt tiny_model.py <<'PY'
import hashlib, platform, sys
seen = hashlib.sha256(f'{platform.system()} {platform.machine()}'.encode())
for name in sys.argv[1:]:
    seen.update(open(name, 'rb').read())
print(seen.hexdigest()[:16])
PY
)
done_in=${XDG_CACHE_HOME:-$HOME/.cache}/weir/llama/$key
work=$done_in.building

if [ -x "$done_in/llama-server" ] && [ -f "$done_in/tiny.gguf" ]; then echo "$done_in"; exit 0; fi
if [ "${1:-}" = --where ]; then say "not built yet: $here/build.sh builds it"; exit 1; fi

# Run again under an exclusive lock that the system releases when the holder dies.
if [ "${WEIR_LLAMA_LOCKED:-}" != "$key" ]; then
  mkdir -p "$work"
  export WEIR_LLAMA_LOCKED=$key
  exec python3 -c '
import fcntl, os, sys
lock = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("real engine: another process is building; waiting for it", file=sys.stderr, flush=True)
    fcntl.flock(lock, fcntl.LOCK_EX)
os.set_inheritable(lock, True)
os.execvp("bash", ["bash", *sys.argv[2:]])' "$done_in.lock" "${BASH_SOURCE[0]}" "$@"
fi

# Runs a long command quietly; on failure the end of its log is what a reader needs.
logged() {
  local log=$work/$1.log; shift
  "$@" >"$log" 2>&1 || { tail -n 25 "$log" >&2; say "failed: $1 (whole log: $log)"; exit 1; }
}

tools=$work/tools/bin
if [ ! -f "$work/tools/.complete" ]; then
  say 'installing the build tools'
  rm -rf "$work/tools"
  logged venv python3 -m venv "$work/tools"
  logged tools "$tools/pip" install --disable-pip-version-check -r "$here/requirements.txt"
  touch "$work/tools/.complete"
fi
export PATH=$tools:$PATH

if [ ! -d "$work/source" ]; then
  say 'downloading the sources'
  rm -rf "$work/download" "$work/unpacked"; mkdir -p "$work/download" "$work/unpacked"
  logged download pip download --disable-pip-version-check --no-deps --no-build-isolation --no-binary :all: \
    --require-hashes -r "$here/sources.txt" -d "$work/download"
  tar -xzf "$work"/download/*.tar.gz -C "$work/unpacked" --strip-components 1
  mv "$work/unpacked" "$work/source"
fi

say 'compiling (about five minutes on two cores)'
# Portable code on purpose: a cache may be shared between machines whose processors differ.
logged configure cmake -G Ninja -S "$work/source/vendor/llama.cpp" -B "$work/objects" -DCMAKE_BUILD_TYPE=Release \
  -DLLAMA_CURL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_TOOLS=ON -DLLAMA_BUILD_SERVER=ON \
  -DGGML_NATIVE=OFF -DBUILD_SHARED_LIBS=OFF
logged compile cmake --build "$work/objects" --target llama-server -j "${WEIR_LLAMA_JOBS:-2}"
logged model python "$here/tiny_model.py" "$work/tiny.gguf"

# Moved in one step, so that whoever looks sees all of it or nothing.
mkdir -p "$work/result"
cp "$work/objects/bin/llama-server" "$work/tiny.gguf" "$work/result/"
rm -rf "$done_in"
mv "$work/result" "$done_in"
rm -rf "$work"
say "built in $done_in"
echo "$done_in"
