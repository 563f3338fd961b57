import { z } from 'zod';
import type { LimitName, UploadBound } from './limits.ts';
import type { ShedReason } from './load.ts';

/**
 * Every limit that refuses requests, with its words for operators: one of the key or workspace, of the address, or of
 * the service itself. `weir_limit_refusals_total`, the log and traces use the names.
 */
export const refusingLimits = {
  rate: 'requests a second of the key',
  concurrency: 'in-flight requests of the workspace',
  tokens: 'tokens a minute of the key',
  'workspace-tokens': 'tokens a minute of the workspace',
  'tag-tokens': 'tokens a minute of a tag',
  balance: 'balance of the workspace',
  budget: 'budget of the key',
  'tag-budget': 'budget of a tag',
  'address-blocked': 'failed keys of the address',
  ledger: 'room in the journal',
  'first-token': 'expected wait for the first token',
  'upload-workspace': 'bodies in flight of the workspace',
  'upload-address': 'bodies in flight of the address',
  'upload-total': 'bodies in flight of the service',
  'upload-time': 'arrival time of the body',
  queue: 'wait for the service',
  'event-loop': 'event loop delay of the service',
  memory: 'memory of the service',
  'open-files': 'open files of the service',
  'open-requests': 'open requests of the service',
} as const satisfies Record<
  LimitName | 'address-blocked' | 'ledger' | 'first-token' | `upload-${UploadBound}` | ShedReason,
  string
>;

export type RefusingLimit = keyof typeof refusingLimits;

/** A budget or a limit in tokens a minute that refused a request. If less was spent, in-flight requests were expected to use up the rest. */
export const reachedLimitSchema = z
  .object({
    tag: z.string().optional().meta({ description: 'absent: it is no limit of a tag', example: 'team=search' }),
    limit: z.string().meta({ description: 'of a budget in USD, otherwise tokens a minute', example: '0.02' }),
    spent: z.string().optional().meta({ description: 'of a budget, in USD', example: '0.0201' }),
  })
  .meta({ id: 'ReachedLimit', description: 'a limit that refused a request, as it was then' });
export type ReachedLimit = Readonly<z.output<typeof reachedLimitSchema>>;

/** `team=search: 0.0201 of 0.02 USD spent` */
export function reachedText(reached: readonly ReachedLimit[]): string {
  return reached
    .map(({ tag, limit, spent }) => {
      const amount = spent === undefined ? `${limit} tokens a minute` : `${spent} of ${limit} USD spent`;
      return tag === undefined ? amount : `${tag}: ${amount}`;
    })
    .join('; ');
}

export function isRefusingLimit(name: unknown): name is RefusingLimit {
  return typeof name === 'string' && Object.hasOwn(refusingLimits, name);
}
