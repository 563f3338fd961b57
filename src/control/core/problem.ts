/**
 * The current problems of a gateway: the one list that the terminal of `weir start`, the portal, `weir problems`, the ops port and the
 * metrics show. Names, counts and times; never content, a credential or the value of a Secret.
 */
import * as z from 'zod';
import { causeNamed, causeWords } from '../../core/cause.ts';
import { dependencyWords, isDependencyCause } from '../../core/dependency-cause.ts';

interface KindRow {
  /** The state of the problem's object in at most six words, for kinds without a cause. */
  readonly words: string;
  /** `critical`: callers notice it, or bills are in danger. Of a Backend only while one of its models has no other route. */
  readonly severity: 'critical' | 'critical-for-models' | 'warning';
}

/** Every kind of problem. Lists are in this order: first what stops all requests, last what will become a problem. */
const problemTable = {
  'service-silent': { words: 'does not answer', severity: 'critical' },
  'envoy-silent': { words: 'does not answer', severity: 'critical' },
  'database-down': { words: 'takes no bills', severity: 'critical' },
  'database-damaged': { words: 'has damaged data', severity: 'critical' },
  'journal-filling': { words: 'has little room for bills', severity: 'critical' },
  'disk-filling': { words: 'has little room left', severity: 'critical' },
  'files-filling': { words: 'may open few more files', severity: 'critical' },
  overloaded: { words: 'refuses requests: it is too busy', severity: 'critical' },
  'model-not-served': { words: 'has no route for requests', severity: 'critical' },
  'vectors-changed': { words: 'gets other vectors than before', severity: 'critical' },
  'vectors-differ': { words: 'has endpoints with other vectors', severity: 'warning' },
  'model-failing': { words: 'fails too many requests', severity: 'critical' },
  'model-below-level': { words: 'misses its service level', severity: 'critical' },
  'backend-down': { words: 'has no endpoint for requests', severity: 'critical-for-models' },
  'backend-failing': { words: 'fails too many attempts', severity: 'critical-for-models' },
  'endpoints-failing': { words: 'has endpoints without requests', severity: 'warning' },
  'backend-differs': { words: 'lists something else than declared', severity: 'warning' },
  'usage-estimated': { words: 'reports no usable counts of tokens', severity: 'warning' },
  'object-refused': { words: 'has a mistake', severity: 'warning' },
  'cluster-refused': { words: 'is refused by Envoy', severity: 'critical-for-models' },
  'identity-refused': { words: 'lets nobody in', severity: 'warning' },
  'replica-behind': { words: 'serves an older catalog', severity: 'warning' },
  'catalog-old': { words: 'gets no changes', severity: 'warning' },
  'database-replaying': { words: 'is settling the journal', severity: 'warning' },
  'valkey-down': { words: 'fails', severity: 'warning' },
  'dependency-failing': { words: 'fails', severity: 'warning' },
  'events-late': { words: 'wait for their receiver', severity: 'warning' },
  'events-dropped': { words: 'were dropped', severity: 'warning' },
  'limit-avoidable': { words: 'has a limit that is avoidable', severity: 'warning' },
  'certificate-expires': { words: 'has a certificate that expires', severity: 'critical-for-models' },
  'not-shown': { words: 'has more problems', severity: 'warning' },
} as const satisfies Readonly<Record<string, KindRow>>;
export type ProblemKind = keyof typeof problemTable;
const isKind = (name: string): name is ProblemKind => Object.hasOwn(problemTable, name);
export const problemKinds: readonly ProblemKind[] = Object.keys(problemTable).filter(isKind);

/** Most models of one problem. */
export const maxModels = 20;

export const problemSchema = z
  .object({
    id: z.string().meta({ description: 'The same as long as the problem is the same, in every service.' }),
    object: z.string().meta({
      description: 'The object with the problem.',
      examples: ['Backend/vllm-a', 'Model/qwen3-8b', 'database'],
    }),
    kind: z.enum(problemKinds),
    model: z.string().nullable().meta({ description: 'Id of the affected model; null: no model.' }),
    cause: z
      .string()
      .optional()
      .meta({
        description: 'Its cause, by the tables of causes in docs/operate/problems.md. Absent: the kind says all.',
        examples: ['credential-refused'],
      }),
    models: z
      .array(z.string())
      .optional()
      .meta({ description: `The models that have no line of their own because of it, at most ${maxModels}.` }),
    problem: z.string().meta({ description: 'The problem, with its figure.' }),
    since: z.iso.datetime().meta({ description: 'When it was first seen.' }),
    action: z.string().meta({ description: 'The next step.' }),
  })
  .meta({ id: 'Problem' });
export type Problem = Readonly<z.infer<typeof problemSchema>>;

/** A problem as the portal shows it. */
export const listedProblemSchema = problemSchema
  .extend({
    severity: z.enum(['critical', 'warning']).meta({
      description: 'critical: callers notice it, or bills are in danger; warning: they would if more fails.',
    }),
    title: z.string().meta({
      description: 'State of the object in at most six words, to follow its name.',
      examples: ['refuses its key'],
    }),
  })
  .meta({ id: 'ListedProblem' });
export type ListedProblem = Readonly<z.infer<typeof listedProblemSchema>>;

const ofPrograms: ReadonlySet<ProblemKind> = new Set(['database-down', 'valkey-down', 'dependency-failing']);

/** Adds the severity and the cause in at most six words. */
export function listedProblem(problem: Problem): ListedProblem {
  const { kind, model, cause = '' } = problem;
  const { words, severity }: KindRow = problemTable[kind];
  const isCritical = severity === 'critical' || (severity === 'critical-for-models' && model !== null);
  const title = (ofPrograms.has(kind) ? wordsOfProgram(cause) : wordsOfEngine(cause)) ?? words;
  return { ...problem, severity: isCritical ? 'critical' : 'warning', title };
}

function wordsOfEngine(name: string): string | undefined {
  const cause = causeNamed(name);
  return cause === undefined ? undefined : causeWords(cause);
}

const wordsOfProgram = (name: string): string | undefined =>
  isDependencyCause(name) ? dependencyWords(name) : undefined;

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
      action: 'Read the reason in its log; restart it if that does not help: docs/operate/runbooks.md#weircatalogold',
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
    action: 'Fix the listed problems first.',
  });
  return [...problems.slice(0, most), more];
}
