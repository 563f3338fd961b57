#!/usr/bin/env bash
# Starts Prometheus and Alertmanager from PATH for a Weir on this machine. Ctrl-C ends both.
#
#   apt-get install prometheus prometheus-alertmanager   # or put both on PATH
#   WEIR_ENVOY_OPS_PORT=9092 npm start                   # in another terminal
#   examples/monitoring/run.sh [FOLDER]                  # FOLDER keeps the data and the token; default: a new one
#
# The token for the portal is of a service account that this script makes, once for each FOLDER; `weir` uses WEIR_DATA and
# WEIR_DATABASE_URL as always. Grafana, where there is one: copy grafana-*.yaml into its provisioning folders (README.md).
set -euo pipefail
data=$(realpath -m "${1:-$(mktemp -d)}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
prometheus=$(command -v prometheus) ||
  { echo 'prometheus is not on PATH: apt-get install prometheus' >&2; exit 1; }
alertmanager=$(command -v prometheus-alertmanager || command -v alertmanager) ||
  { echo 'alertmanager is not on PATH: apt-get install prometheus-alertmanager' >&2; exit 1; }
mkdir -p "$data"
if [ ! -s "$data/portal-token" ]; then
  # Its name is free again once it is revoked, so each folder has one of its own.
  made=$(cd "$root" && node bin/weir.mjs service-account create "prometheus-$(date +%s)" \
    --scopes metrics:read --all-workspaces --json)
  (umask 077 && sed -n 's/.*"token": *"\([^"]*\)".*/\1/p' <<< "$made" > "$data/portal-token")
fi
cp "$here/prometheus.yml" "$here/alertmanager.yml" "$root/charts/weir/files/monitoring/rules.yaml" "$data"
"$alertmanager" --config.file="$data/alertmanager.yml" --storage.path="$data/alertmanager" --log.level=warn \
  --web.listen-address=127.0.0.1:9093 --cluster.listen-address= &
pids=($!)
# 9090 may be taken: Debian starts a Prometheus there when the package is installed.
"$prometheus" --config.file="$data/prometheus.yml" --storage.tsdb.path="$data/prometheus" --log.level=warn \
  --web.listen-address=127.0.0.1:9094 --enable-feature=exemplar-storage &
pids+=($!)
# When one of them ends, or this script is ended, so does the other.
trap 'kill "${pids[@]}" 2> /dev/null; wait' EXIT
trap 'exit 0' INT TERM
echo "Prometheus: http://127.0.0.1:9094   Alertmanager: http://127.0.0.1:9093   data: $data"
wait -n
