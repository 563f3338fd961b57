/**
 * The current problems of a gateway: the one list that the terminal of `weir start`, the portal, `weir problems`, the ops port and the
 * metrics show. Names, counts and times; never content, a credential or the value of a Secret.
 */
import * as z from 'zod';

/** Every kind of problem. Lists are in this order: first what stops all requests, last what will become a problem. */
export const problemKinds = [
  'service-silent',
  'envoy-silent',
  'database-down',
  'database-damaged',
  'journal-filling',
  'disk-filling',
  'files-filling',
  'overloaded',
  'model-not-served',
  'vectors-changed',
  'vectors-differ',
  'model-failing',
  'model-below-level',
  'backend-down',
  'backend-failing',
  'endpoints-failing',
  'backend-differs',
  'usage-estimated',
  'object-refused',
  'cluster-refused',
  'identity-refused',
  'replica-behind',
  'catalog-old',
  'database-replaying',
  'valkey-down',
  'dependency-failing',
  'events-late',
  'events-dropped',
  'limit-avoidable',
  'certificate-expires',
  'not-shown',
] as const;
export type ProblemKind = (typeof problemKinds)[number];

export const problemSchema = z
  .object({
    id: z.string().meta({ description: 'The same as long as the problem is the same, in every service.' }),
    object: z.string().meta({
      description: 'What has the problem.',
      examples: ['Backend/vllm-a', 'Model/qwen3-8b', 'database'],
    }),
    kind: z.enum(problemKinds),
    model: z.string().nullable().meta({ description: 'The id of the model whose callers notice; null: of none.' }),
    problem: z.string().meta({ description: 'What is wrong, with its figure.' }),
    since: z.iso.datetime().meta({ description: 'When it was first seen.' }),
    action: z.string().meta({ description: 'What to do next.' }),
  })
  .meta({ id: 'Problem' });
export type Problem = Readonly<z.infer<typeof problemSchema>>;

/** The report of one service: the answer to `GET /internal/problems`. */
export const problemReportSchema = z.object({
  /** The catalog that it serves. */
  catalog: z.object({ version: z.string(), served_at: z.iso.datetime() }),
  problems: z.array(problemSchema),
});
export type ProblemReport = Readonly<z.infer<typeof problemReportSchema>>;

/** One service that has reported its problems. */
interface ReportingService {
  /** Its address, or its number. */
  readonly name: string;
  readonly report: ProblemReport;
}

/** A problem's identity. Two problems of the same object and kind differ in their detail. */
export function problemId({
  object,
  kind,
  detail = '',
}: Pick<Problem, 'object' | 'kind'> & { readonly detail?: string | undefined }): string {
  return [kind, object, detail].filter((part) => part !== '').join(' ');
}

/** A problem of no model. */
export function problemOf(facts: Omit<Problem, 'id' | 'model'>): Problem {
  return { ...facts, id: problemId(facts), model: null };
}

/** A change reaches all replicas and their Envoys within moments. What has not arrived after this time is a problem. */
export const maxLagMs = 15_000;

/** The problems of several services as one list: each problem once, with the earliest time at which one of them saw it. */
export function mergeProblems(services: readonly ReportingService[], now: number): readonly Problem[] {
  const seen = Map.groupBy(
    services.flatMap(({ name, report }) => report.problems.map((problem) => ({ name, problem }))),
    ({ problem }) => problem.id,
  );
  const merged = [...seen.values()].flatMap((views) => {
    const [first, ...others] = views.map(({ problem }) => problem).toSorted(byTime);
    if (first === undefined) return [];
    const isSeenByAll = services.length === others.length + 1;
    return [isSeenByAll ? first : { ...first, problem: `${first.problem} ${seenBy(views, services.length)}` }];
  });
  return [...merged, ...behind(services, now)].toSorted(byUrgency);
}

const byTime = (a: Problem, b: Problem): number => (a.since < b.since ? -1 : Number(a.since > b.since));

const rank = new Map(problemKinds.map((kind, index) => [kind, index]));

/** Compares by kind, then by time. The operator should look at the first problem first. */
export function byUrgency(a: Problem, b: Problem): number {
  return (rank.get(a.kind) ?? 0) - (rank.get(b.kind) ?? 0) || byTime(a, b) || (a.id < b.id ? -1 : Number(a.id > b.id));
}

function seenBy(views: readonly { readonly name: string }[], total: number): string {
  const [first] = views;
  return views.length === 1
    ? `(seen by service ${first?.name} alone)`
    : `(seen by ${views.length} of ${total} services)`;
}

/** The services whose catalog differs from that of the majority. */
function behind(services: readonly ReportingService[], now: number): readonly Problem[] {
  const groups = [...Map.groupBy(services, ({ report }) => report.catalog.version).values()];
  if (groups.length < 2) return [];
  const servedSince = (group: readonly ReportingService[]): string =>
    group.map(({ report }) => report.catalog.served_at).reduce((a, b) => (a < b ? a : b), '9999');
  // If two groups have the same size, the group with the newer catalog is right.
  const [most = [], ...others] = groups.toSorted(
    (a, b) => b.length - a.length || (servedSince(a) < servedSince(b) ? 1 : -1),
  );
  const since = servedSince(most);
  if (now - Date.parse(since) < maxLagMs) return [];
  return others.flat().map(({ name }) =>
    problemOf({
      object: `service/${name}`,
      kind: 'replica-behind',
      since,
      problem: `Serves another catalog than ${most.length} of ${services.length} services.`,
      action:
        'Look in its log for the reason; restart it if that does not help: docs/operate/runbooks.md#weircatalogold',
    }),
  );
}

/** The first problems of a list, and a last problem that counts the others. */
export function cutProblems(problems: readonly Problem[], most: number): readonly Problem[] {
  const left = problems.slice(most);
  if (left.length === 0) return problems;
  const more = problemOf({
    object: 'catalog',
    kind: 'not-shown',
    since: left.map(({ since }) => since).reduce((a, b) => (a < b ? a : b)),
    problem: `${left.length} more problems are not listed here.`,
    action: 'Mend those that are listed first.',
  });
  return [...problems.slice(0, most), more];
}
