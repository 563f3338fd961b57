/** Parts of the service that log what becomes of them. */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Snapshot } from '../../core/catalog.ts';
import { systemClock } from '../../process/clock.ts';
import { createValkeyLimits, type ValkeyLimits } from '../../rate-limits/valkey.ts';
import { type FileCheck, startFileCheck } from '../../store/sqlite/file-check.ts';
import type { startTokenizers } from '../../tokenizer/start-tokenizers.ts';

/** Checks the database file beside the service. A damaged file is logged for operators and does not stop the service. */
export function checkFile(file: string, log: Logger): FileCheck {
  return startFileCheck(file, {
    onDamage: (findings) =>
      log.error({ file, findings }, 'the database file is damaged: restore a backup (docs/accounts.md)'),
    onUnchecked: (error) => log.warn({ file, error }, 'the database file could not be checked'),
  });
}

/** Limits that all replicas share through Valkey. */
export function shareLimits(
  url: string,
  { expectedReplicas, log }: { readonly expectedReplicas: number; readonly log: Logger },
): ValkeyLimits {
  return createValkeyLimits({
    url,
    clock: systemClock,
    newId: randomUUID,
    expectedReplicas,
    onUp: () => log.info('limits are shared by all replicas'),
    onDown: () => log.warn('Valkey is away: each replica keeps to its share of the limits'),
  });
}

/** Loads the tokenizers of a snapshot's models. Those that cannot be used are logged, and nothing waits for them. */
export function loadTokenizers(
  tokenizers: Pick<ReturnType<typeof startTokenizers>, 'load'>,
  { snapshot, log }: { readonly snapshot: Snapshot; readonly log: Logger },
): void {
  for (const { id, tokenizer } of snapshot.models.values()) {
    if (tokenizer === undefined) continue;
    void tokenizers.load(tokenizer.path).then((load) => {
      if (load.kind === 'broken') log.warn({ model: id, ...load.problem }, 'tokenizer problem');
    });
  }
}
