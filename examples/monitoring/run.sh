#!/usr/bin/env bash
# Starts Prometheus and Alertmanager from PATH for a Weir on this machine. Ctrl-C ends both.
#
#   apt-get install prometheus prometheus-alertmanager   # or put both on PATH
#   WEIR_ENVOY_OPS_PORT=9092 npm start                   # in another terminal
#   examples/monitoring/run.sh [FOLDER]                  # FOLDER keeps the data; default: a new one
#
# Grafana, where there is one: copy grafana-*.yaml into its provisioning folders (README.md).
set -euo pipefail
data=$(realpath -m "${1:-$(mktemp -d)}")
cd "$(dirname "${BASH_SOURCE[0]}")"
prometheus=$(command -v prometheus) ||
  { echo 'prometheus is not on PATH: apt-get install prometheus' >&2; exit 1; }
alertmanager=$(command -v prometheus-alertmanager || command -v alertmanager) ||
  { echo 'alertmanager is not on PATH: apt-get install prometheus-alertmanager' >&2; exit 1; }
mkdir -p "$data"
"$alertmanager" --config.file=alertmanager.yml --storage.path="$data/alertmanager" --log.level=warn \
  --web.listen-address=127.0.0.1:9093 --cluster.listen-address= &
pids=($!)
# 9090 may be taken: Debian starts a Prometheus there when the package is installed.
"$prometheus" --config.file=prometheus.yml --storage.tsdb.path="$data/prometheus" --log.level=warn \
  --web.listen-address=127.0.0.1:9094 --enable-feature=exemplar-storage &
pids+=($!)
# When one of them ends, or this script is ended, so does the other.
trap 'kill "${pids[@]}" 2> /dev/null; wait' EXIT
trap 'exit 0' INT TERM
echo "Prometheus: http://127.0.0.1:9094   Alertmanager: http://127.0.0.1:9093   data: $data"
wait -n
