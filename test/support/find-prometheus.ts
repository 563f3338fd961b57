import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** At most this long the first build takes, on a machine that is busy with other suites. */
export const prometheusBuildMs = 20 * 60_000;

/** The paths of Prometheus and promtool, of the version that test/support/prometheus pins. Builds them the first time. */
export async function findPrometheus(): Promise<{ readonly prometheus: string; readonly promtool: string }> {
  const { stdout } = await promisify(execFile)(join(import.meta.dirname, 'prometheus', 'build.sh'));
  const folder = stdout.trim();
  return { prometheus: join(folder, 'prometheus'), promtool: join(folder, 'promtool') };
}
