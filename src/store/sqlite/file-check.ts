import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

export interface FileCheck {
  /** Whether damage has been found. */
  readonly isDamaged: () => boolean;
  /** Resolves when the check is over, whatever it found; never rejects. */
  readonly ended: Promise<void>;
  /** Breaks the check off where it is still under way. */
  readonly close: () => Promise<void>;
}

export interface FileCheckOptions {
  /** Told once, of what is wrong with the file. */
  readonly onDamage: (findings: readonly string[]) => void;
  /** Told why the file could not be checked: whether it is damaged is then not known. */
  readonly onUnchecked: (reason: string) => void;
}

const script = fileURLToPath(new URL('./file-check-process.ts', import.meta.url));
const findings = z.array(z.string());

/**
 * Checks an SQLite file once, in the background: 3–4 s for each GB. It reads beside those who write, in a process of the lowest
 * priority: SQLite cannot be interrupted here, and a thread would keep the service from ending until it is done.
 */
export function startFileCheck(file: string, { onDamage, onUnchecked }: FileCheckOptions): FileCheck {
  let isDamaged = false;
  let closed = false;
  const child = spawn(process.execPath, [script, file], { stdio: ['ignore', 'pipe', 'pipe'] });

  async function check(): Promise<void> {
    try {
      const [output, complaint, [code, signal]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'close'),
      ]);
      if (closed) return;
      if (code !== 0) throw new Error(`the check ended with ${String(signal ?? code)}: ${complaint.slice(-500)}`);
      const found = findings.parse(JSON.parse(output));
      if (found.length === 0) return;
      isDamaged = true;
      onDamage(found);
    } catch (error) {
      if (!closed) onUnchecked(error instanceof Error ? error.message : String(error));
    }
  }

  const ended = check();
  return {
    isDamaged: () => isDamaged,
    ended,
    close: async () => {
      closed = true;
      child.kill('SIGKILL');
      await ended;
    },
  };
}
