import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folderIn = (data: string): string => join(data, 'ops');

/** The portal, or a service by its number: `service-1`. */
type ProgramName = 'portal' | `service-${number}`;

/** Leaves word in the data folder of where a program answers, for commands: a service on its ops port. The result takes the word back. */
export function leaveOpsAddress(
  data: string,
  { program, origin }: { readonly program: ProgramName; readonly origin: string },
): () => void {
  mkdirSync(folderIn(data), { recursive: true, mode: 0o700 });
  const file = join(folderIn(data), program);
  writeFileSync(file, `${origin}\n`, { mode: 0o600 });
  return () => rmSync(file, { force: true });
}

/** Where the services, or the portal, of this data folder said that they answer. One that was killed is still named. */
export function readOpsAddresses(data: string, of: 'services' | 'portal'): readonly string[] {
  try {
    return readdirSync(folderIn(data)).flatMap((name) => {
      if ((name === 'portal') !== (of === 'portal')) return [];
      const origin = readFileSync(join(folderIn(data), name), 'utf8').trim();
      return /^http:\/\/[^/]+$/.test(origin) && URL.canParse(origin) ? [origin] : [];
    });
  } catch {
    // None has ever run there, or it has just taken its word back.
    return [];
  }
}
