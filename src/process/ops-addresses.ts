import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { maxSecretBytes, readBoundedFileSync } from './bounded-file.ts';

const folderIn = (data: string): string => join(data, 'ops');

/** The portal, the gateway that callers reach, or a service by its number: `service-1`. */
type ProgramName = 'portal' | 'gateway' | `service-${number}`;

/**
 * Writes the address of a program into the data folder, where commands find it. For a service it is the address of its
 * ops port. The returned function removes the address.
 */
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
 * The addresses that the services, the portal or the gateway of this data folder have written. The address of a killed
 * program is still among them.
 */
export function readOpsAddresses(data: string, of: 'services' | 'portal' | 'gateway'): readonly string[] {
  try {
    return readdirSync(folderIn(data)).flatMap((name) => {
      if (of === 'services' ? !name.startsWith('service-') : name !== of) return [];
      const origin = String(readBoundedFileSync(join(folderIn(data), name), maxSecretBytes)).trim();
      return /^https?:\/\/[^/]+$/.test(origin) && URL.canParse(origin) ? [origin] : [];
    });
  } catch {
    // No program has run with this folder, or the last one has just removed its address.
    return [];
  }
}
