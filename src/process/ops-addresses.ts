import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folderIn = (data: string): string => join(data, 'ops');

/** The portal, the gateway that callers reach, or a service by its number: `service-1`. */
type ProgramName = 'portal' | 'gateway' | `service-${number}`;

/** Writes into the data folder where a program answers, for commands: a service on its ops port. The result removes it again. */
export function leaveOpsAddress(
  data: string,
  { program, origin }: { readonly program: ProgramName; readonly origin: string },
): () => void {
  mkdirSync(folderIn(data), { recursive: true, mode: 0o700 });
  const file = join(folderIn(data), program);
  writeFileSync(file, `${origin}\n`, { mode: 0o600 });
  return () => rmSync(file, { force: true });
}

/**
 * The addresses that the services, the portal or the gateway of this data folder have written. A killed one is still
 * named.
 */
export function readOpsAddresses(data: string, of: 'services' | 'portal' | 'gateway'): readonly string[] {
  try {
    return readdirSync(folderIn(data)).flatMap((name) => {
      if (of === 'services' ? !name.startsWith('service-') : name !== of) return [];
      const origin = readFileSync(join(folderIn(data), name), 'utf8').trim();
      return /^https?:\/\/[^/]+$/.test(origin) && URL.canParse(origin) ? [origin] : [];
    });
  } catch {
    // None has ever run there, or it has just taken its word back.
    return [];
  }
}
