// Loaded by `--import` into the processes of a Weir under measurement: lowers the service's own limit of open files before the service
// reads it. Envoy keeps its limit, because it needs three files for each stream.
import { execFileSync } from 'node:child_process';
import { isMainThread } from 'node:worker_threads';

const [, , command] = process.argv;
const limit = process.env['BENCH_SERVICE_FILES'];
if (isMainThread && command === 'serve' && limit !== undefined) {
  execFileSync('prlimit', ['--pid', String(process.pid), `--nofile=${limit}:${limit}`]);
}
