import type { Clock } from '../core/clock.ts';
import { reasonOf } from '../telemetry/core/request-reason.ts';
import type { Story } from '../telemetry/core/story.ts';
import { type LiveServices, rememberAnswer } from './services.ts';

/**
 * A request that was refused, or that ended without a whole answer, and why. It has no plan and no attempts, so that
 * the failures of many services fit into memory.
 */
export interface RecentFailure {
  readonly id: string;
  readonly correlationId: string;
  /** Ids. Undefined: no key was accepted. */
  readonly workspaceId: string | undefined;
  readonly keyId: string | undefined;
  readonly modelId: string | undefined;
  readonly surface: Story['surface'];
  readonly outcome: NonNullable<Story['outcome']>;
  readonly isStream: boolean;
  readonly startedAt: number;
  readonly durationMs: number;
  /** In words, for an admin and for a member. Null: not known. */
  readonly reason: string | null;
  readonly memberReason: string | null;
}

/** The failures that one service remembers, oldest first, and the place from which it is read on. */
interface KnownService {
  readonly process: string;
  readonly after: number;
  readonly failures: readonly RecentFailure[];
}

/** A service remembers 1,250 requests; the portal keeps a few more, because some of a service's are forgotten before others. */
const maxOfService = 2_000;

/** Services that no longer answer, whose failures are kept. Pods that were replaced had addresses of their own. */
const maxGone = 16;
/** How long a page waits for the services. A service that is slow or down must not delay the ledger's requests. */
const waitMs = 300;

/**
 * Reads the failures that the services remember, at most once a second. Each read asks only for those that are new. The
 * failures of a service that does not answer, has left or was started again stay as they were read. If the services are
 * slow, the result is what was read before, and the next one has the rest.
 */
export function createRecentFailures(
  services: Pick<LiveServices, 'unsuccessful'>,
  clock: Pick<Clock, 'elapsed' | 'after'>,
): () => Promise<readonly RecentFailure[]> {
  const known = new Map<string, KnownService>();
  let reading: Promise<void> | undefined;

  async function read(): Promise<void> {
    const { data } = await services.unsuccessful((service) => known.get(service));
    for (const { service, said } of data) {
      // Those of an earlier process are kept, because no service remembers them any more.
      const older = known.get(service)?.failures ?? [];
      const failures = [...older, ...said.stories.flatMap(failureOf)].slice(-maxOfService);
      known.set(service, { process: said.process, after: said.after, failures });
    }
    const answered = new Set(data.map(({ service }) => service));
    const gone = [...known.keys()].filter((service) => !answered.has(service));
    for (const service of gone.slice(0, Math.max(0, gone.length - maxGone))) known.delete(service);
  }

  async function ask(): Promise<readonly RecentFailure[]> {
    // Two reads at once would read the same failures twice.
    reading ??= read().finally(() => (reading = undefined));
    const late = Promise.withResolvers<void>();
    const cancel = clock.after(waitMs, late.resolve);
    await Promise.race([reading, late.promise]);
    cancel();
    return [...known.values()].flatMap(({ failures }) => failures);
  }

  return rememberAnswer(ask, clock);
}

export function failureOf(story: Story): readonly RecentFailure[] {
  const { outcome } = story;
  if (outcome === null || outcome === 'completed') return [];
  return [
    {
      id: story.id,
      correlationId: story.correlation_id ?? '',
      workspaceId: story.workspace ?? undefined,
      keyId: story.key ?? undefined,
      modelId: story.model ?? undefined,
      surface: story.surface,
      outcome,
      isStream: story.stream ?? false,
      startedAt: new Date(story.started_at).getTime(),
      durationMs: Math.round(story.duration_ms ?? 0),
      reason: reasonOf(story, 'admin') ?? null,
      memberReason: reasonOf(story, 'member') ?? null,
    },
  ];
}
