import { z } from 'zod';
import { surfaces } from '../../core/dialect.ts';
import { isFailureCode } from '../../core/failure.ts';
import { parseJson } from '../../core/json.ts';
import type { CountedRefusal, RefusedRequest } from '../../core/refused-request.ts';
import { isRefusingLimit, reachedLimitSchema } from '../../core/refusing-limit.ts';
import { packId } from './packed-id.ts';

/** Maximum number of refused requests whose ids a row has. Further ones are only counted. */
export const maxSamples = 5;

export const minuteMs = 60_000;

/** The requests that were refused in one minute with one key, for one model and with one code. Texts are empty where there is none. */
export interface RefusalRow {
  /** Minutes since the Unix epoch. */
  readonly minute: bigint;
  readonly key_id: string;
  readonly model: string;
  readonly code: string;
  readonly workspace_id: string;
  /** The packed id of the first request: the place of the row in a list. */
  readonly first_id: string;
  readonly count: bigint;
  /** A line of JSON for each of the first requests. */
  readonly samples: string;
}

export function refusalRow(request: RefusedRequest): RefusalRow {
  const { requestId: id, correlationId: correlation, startedAt: at, surface, stream, durationMs: ms, about } = request;
  const { limit, reached } = request;
  return {
    minute: BigInt(Math.floor(at / minuteMs)),
    ...{ key_id: request.keyId ?? '', model: request.modelId ?? '', code: request.code },
    workspace_id: request.workspaceId ?? '',
    first_id: packId(id, request).id,
    count: 1n,
    samples: `${JSON.stringify({ id, correlation, at, surface, stream, ms, about, limit, reached })}\n`,
  };
}

const sampleSchema = z.object({
  ...{ id: z.string(), correlation: z.string(), at: z.number(), ms: z.number() },
  surface: z.enum(surfaces),
  stream: z.boolean().optional(),
  about: z.array(z.string()),
  limit: z.unknown().optional(),
  reached: z.array(reachedLimitSchema).optional().catch(undefined),
});

/** The requests whose ids a row has. What a newer version has written otherwise is left out. */
export function refusalsOf(row: Readonly<Record<keyof RefusalRow, unknown>>): readonly CountedRefusal[] {
  const { code } = row;
  if (!isFailureCode(code)) return [];
  const text = (value: unknown): string | undefined => (value === '' ? undefined : String(value));
  const shared = { keyId: text(row.key_id), modelId: text(row.model), workspaceId: text(row.workspace_id) };
  return String(row.samples)
    .trimEnd()
    .split('\n')
    .flatMap((line): readonly CountedRefusal[] => {
      const read = sampleSchema.safeParse(parseJson(line));
      if (!read.success) return [];
      const { id, correlation, at, ms, surface, stream, about, reached } = read.data;
      const own = { requestId: id, correlationId: correlation, startedAt: at, durationMs: ms, surface, stream, about };
      const limit = isRefusingLimit(read.data.limit) ? read.data.limit : undefined;
      return [{ ...shared, ...own, code, limit, reached, count: Number(row.count) }];
    });
}
