/** Parts of the service that log their own problems. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import {
  blockMs,
  createAddressGate,
  type OpenAddressGate,
  tolerated,
  windowMs,
} from '../../gateway/admission/address-gate.ts';
import type { DependencyWatch } from '../../core/dependency-cause.ts';
import { kindOfModel, type Snapshot } from '../../core/catalog.ts';
import type { Limits } from '../../core/limits.ts';
import type { ValkeyAddress } from '../../core/valkey-address.ts';
import { systemClock } from '../../process/clock.ts';
import { createMemoryLimits, type MemoryLimits } from '../../gateway/rate-limits/memory.ts';
import { shareBlocks } from '../../gateway/rate-limits/shared-blocks.ts';
import type { ValkeyLimits } from '../../gateway/rate-limits/valkey.ts';
import { type FileCheck, startFileCheck } from '../../books/databases/sqlite/file-check.ts';
import type { Settings } from '../../process/settings/settings.ts';
import type { PartLog } from '../../telemetry/ops/repeat-limit.ts';
import { createProblemLog } from '../../telemetry/ops/telemetry.ts';
import type { Tracing } from '../../telemetry/otlp/open-tracing.ts';
import type { startTokenizers } from '../../gateway/tokenizer/start-tokenizers.ts';
import type { TracingSettings } from '../../process/settings/read-settings.ts';
import manifest from '../../../package.json' with { type: 'json' };

/**
 * Checks the database file while the service runs. A damaged file is logged for operators and does not stop the
 * service.
 */
export function checkFile(file: string, log: PartLog): FileCheck {
  return startFileCheck(file, {
    onDamage: (findings) =>
      log.error({ file, findings }, 'the database file is damaged: restore a backup (docs/operate/backup.md)'),
    onUnchecked: (error) => log.warn({ file, error }, 'database file check failed'),
  });
}

/** Starts to trace requests. The modules for that are loaded only here. */
export async function startTracing(
  tracing: TracingSettings | undefined,
  options: {
    readonly socketPath: string;
    readonly log: PartLog;
    readonly settings: Settings;
    readonly number: number | undefined;
    readonly dependencies: DependencyWatch;
  },
): Promise<Tracing | undefined> {
  if (tracing === undefined) return undefined;
  const { openTracing } = await import('../../telemetry/otlp/open-tracing.ts');
  const { socketPath, log, number, dependencies } = options;
  const { WEIR_POD_NAME: pod = hostname() } = options.settings;
  const resource = {
    'service.name': 'weir',
    'service.version': manifest.version,
    'service.instance.id': number === undefined ? pod : `${pod}-${number}`,
  };
  return openTracing({ ...tracing, socketPath, log, resource, report: dependencies.of('tracing') });
}

/** The gates that a request passes before its body is read: blocked addresses, and the limits of keys and workspaces. */
export interface Gates {
  readonly limits: Limits & Pick<MemoryLimits, 'reserved'>;
  readonly addresses: OpenAddressGate;
  /** How the limits are shared with other replicas; undefined if they are in memory. */
  readonly sharing: ValkeyLimits['link'] | undefined;
  /** The link for what all workspaces share; undefined if there is no Valkey. */
  readonly common: ValkeyLimits['common'] | undefined;
}

/**
 * Opens the limits: in Valkey if the settings name one, otherwise in memory. Never waits for Valkey. The modules of its
 * client are loaded only here.
 */
export async function openGates(
  { WEIR_VALKEY_URL: address, WEIR_REPLICAS: expectedReplicas }: Settings,
  log: Pick<PartLog, 'info' | 'warn'>,
): Promise<Gates> {
  if (address === undefined) {
    const addresses = createAddressGate({ clock: systemClock });
    return { limits: createMemoryLimits(systemClock), addresses, sharing: undefined, common: undefined };
  }
  const { createValkeyLimits } = await import('../../gateway/rate-limits/valkey.ts');
  const limits = createValkeyLimits({
    ...{ address, clock: systemClock, newId: randomUUID, expectedReplicas },
    onUp: () => log.info({}, 'replicas share limits'),
    onDown: () => log.warn({ ...limits.link.failure() }, awayMessages[address.kind]),
  });
  const addresses = createAddressGate({ clock: systemClock, onFailure: (network) => tellOthers(network) });
  const tellOthers = shareBlocks({ link: limits.common, tolerated, windowMs, blockMs, block: addresses.block });
  return { limits, addresses, sharing: limits.link, common: limits.common };
}

const awayMessages: Readonly<Record<ValkeyAddress['kind'], string>> = {
  server: 'Valkey unreachable: each replica enforces its share of the limits',
  cluster: 'Valkey cluster server unreachable: each replica enforces its share of its workspaces’ limits',
};

/**
 * Returns a function that loads the tokenizers of a snapshot's models. A tokenizer that cannot be used is logged once.
 * Nothing waits for the loading.
 */
export function tokenizerLoader(
  tokenizers: Pick<ReturnType<typeof startTokenizers>, 'load'>,
  log: PartLog,
): (snapshot: Snapshot) => Promise<void> {
  const logProblems = createProblemLog(log, 'tokenizer problem');
  return async ({ models }) => {
    const loads = [...models.values()].map(async (model) => {
      const { id, tokenizer } = model;
      const use = kindOfModel(model) === 'chat' ? 'chats' : 'texts';
      const load = tokenizer && (await tokenizers.load(tokenizer.path, use));
      return load?.kind === 'broken' ? [{ model: id, ...load.problem }] : [];
    });
    logProblems((await Promise.all(loads)).flat());
  };
}
