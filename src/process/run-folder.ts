import { createHash } from 'node:crypto';
import { chmodSync, lstatSync, mkdirSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

/** `sun_path` of unix(7) is 108 bytes, the last one a zero. */
const longestSocketPath = 107;
/** The longest name a socket in the folder may get, with room for several service processes. */
const longestSocketName = '/extproc-00.sock';

/**
 * Makes the folder for sockets and returns its path: `<data>/run`, or a folder of its own under the system's
 * temporary folder when a socket's path would become too long for the kernel. The same data folder always gets the
 * same one. Nobody but its owner may enter: Envoy's admin socket asks for no password.
 * Throws when the folder belongs to someone else.
 */
export function makeRunFolder(dataFolder: string): string {
  const inside = join(realpathSync(dataFolder), 'run');
  if (Buffer.byteLength(inside + longestSocketName) <= longestSocketPath) {
    mkdirSync(inside, { recursive: true, mode: 0o700 });
    chmodSync(inside, 0o700);
    return inside;
  }
  const digest = createHash('sha256').update(realpathSync(dataFolder)).digest('hex').slice(0, 16);
  const outside = join(tmpdir(), `weir-${digest}`);
  mkdirSync(outside, { recursive: true, mode: 0o700 });
  // Anyone may write to the temporary folder and could have been there first.
  const { uid } = lstatSync(outside);
  if (!lstatSync(outside).isDirectory() || uid !== userInfo().uid) {
    throw new Error(`${outside} belongs to someone else; remove it, or choose another folder with --data.`);
  }
  chmodSync(outside, 0o700);
  return outside;
}

/** Removes sockets that a killed process left: they would stop the next bind. */
export function removeSockets(runFolder: string): void {
  for (const name of readdirSync(runFolder)) {
    if (name.endsWith('.sock')) rmSync(join(runFolder, name), { force: true });
  }
}
