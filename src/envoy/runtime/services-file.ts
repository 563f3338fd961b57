import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { type Clock, waitFor } from '../../core/clock.ts';
import type { RunFolder } from '../config/run-folder.ts';
import { renderServices, type ServiceState } from '../config/service-cluster.ts';
import type { EnvoyAdmin } from './admin.ts';

/** The file in which Envoy reads the states of several services. */
interface ServicesFile {
  /**
   * Changes the states, in the order of the services' numbers. Envoy has them a few milliseconds later. If they cannot be written, the next
   * call writes: the supervisor sets the states each second, and must go on.
   */
  readonly set: (states: readonly ServiceState[]) => void;
  /** Resolves to whether Envoy has the latest states; false if it does not have them within two seconds, or does not answer. */
  readonly confirmed: () => Promise<boolean>;
}

interface ServicesFileOptions {
  readonly files: RunFolder;
  readonly admin: Pick<EnvoyAdmin, 'stats'>;
  readonly clock: Clock;
  /** The state of each service at the beginning. */
  readonly first: readonly ServiceState[];
}

const confirmWithinMs = 2_000;
const askEveryMs = 10;
const versionText = 'cluster.weir-service.version_text';

/**
 * Writes the file with the first states, and again with each change. It is written at once: until Envoy knows that a
 * service has ended, it sends requests to a socket on which no process listens. Throws when the file cannot be made.
 */
export function openServicesFile(options: ServicesFileOptions): ServicesFile {
  const { files, admin, clock } = options;
  let written = options.first;
  let version = '';
  let count = 0;

  function write(next: readonly ServiceState[]): void {
    count += 1;
    version = `${clock.now()}-${count}`;
    const draft = `${files.servicesFile}.draft`;
    writeFileSync(draft, JSON.stringify(renderServices(files, { states: next, version })), { mode: 0o600 });
    // Envoy counts only a file moved into the folder as a change.
    renameSync(draft, files.servicesFile);
    written = next;
  }

  mkdirSync(files.servicesFolder, { recursive: true, mode: 0o700 });
  write(options.first);
  return {
    set: (next) => {
      if (next.every((state, index) => state === written[index])) return;
      try {
        write(next);
      } catch {
        // No file is left to this process, or the disk is full: `written` still has the states that Envoy reads.
      }
    },
    confirmed: async () => {
      const deadline = clock.elapsed() + confirmWithinMs;
      while (clock.elapsed() < deadline) {
        const stats = await admin.stats([versionText]).catch(() => undefined);
        if (stats?.get(versionText) === version) return true;
        await waitFor(askEveryMs, { clock });
      }
      return false;
    },
  };
}
