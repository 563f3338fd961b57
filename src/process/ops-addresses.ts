import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folderIn = (data: string): string => join(data, 'ops');

/** Leaves word in the data folder of where a service's ops port is, for commands. The result takes the word back. */
export function leaveOpsAddress(
  data: string,
  { name, origin }: { readonly name: string; readonly origin: string },
): () => void {
  mkdirSync(folderIn(data), { recursive: true, mode: 0o700 });
  const file = join(folderIn(data), name);
  writeFileSync(file, `${origin}\n`, { mode: 0o600 });
  return () => rmSync(file, { force: true });
}

/** Where services of this data folder said that their ops ports are. One that was killed is still named. */
export function readOpsAddresses(data: string): readonly string[] {
  try {
    return readdirSync(folderIn(data)).flatMap((name) => {
      const origin = readFileSync(join(folderIn(data), name), 'utf8').trim();
      return /^http:\/\/[^/]+$/.test(origin) && URL.canParse(origin) ? [origin] : [];
    });
  } catch {
    // No service has ever run there, or it has just taken its word back.
    return [];
  }
}
