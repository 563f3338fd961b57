import type { KubeObject, Route, Snapshot } from '../core/catalog.ts';
import type { ReplicaView } from '../core/replica.ts';
import { backendConditions } from './backend-conditions.ts';
import type { Compilation } from './compile.ts';
import { isFields } from './is-fields.ts';
import type { Condition } from './resources/status.ts';
import { modelConditions } from './model-conditions.ts';
import { noticeFor } from './model-notice.ts';
import type { Notice } from './notice.ts';
import { createRemembered } from './remember.ts';
import { conditionsOf, instantText } from './statement.ts';
import type { Verdict } from './verdict.ts';
import { readStatus } from './written-status.ts';

export interface JudgeOptions {
  readonly objects: readonly KubeObject[];
  readonly compilation: Compilation;
  readonly replicas: readonly ReplicaView[];
  readonly now: number;
}

/** The status that an object ought to have. */
export interface ObjectJudgement {
  readonly object: KubeObject;
  /** Undefined: nothing was made of it, and it has not left the catalog either. */
  readonly verdict: Verdict | undefined;
  readonly notice: Notice | undefined;
  /** A merge patch: what is null is to be removed. */
  readonly status: Readonly<Record<string, unknown>>;
  readonly before: readonly Condition[];
  readonly after: readonly Condition[];
  /** Whether it has another one now. */
  readonly differs: boolean;
}

/**
 * Judges objects one by one, as they are asked for. An object of which a newer version has come than was compiled is
 * left out: it is judged when that has been.
 */
export function* judgeObjects(options: JudgeOptions): Generator<ObjectJudgement> {
  for (const object of options.objects) {
    const judgement = object.kind === 'Model' ? judgeModel(object, options) : judgeBackend(object, options);
    if (judgement !== undefined) yield judgement;
  }
}

function judgeModel(object: KubeObject, options: JudgeOptions): ObjectJudgement | undefined {
  const { compilation, replicas, now } = options;
  const verdict = compilation.verdicts.get(object.declared);
  const notice = noticeFor(object, now);
  const hasLeft = notice !== undefined && notice.leavesAt <= now;
  if (verdict === undefined && !hasLeft) return undefined;
  const { id, backends } = specOf(object);
  const serves = verdict !== undefined && verdict.stand !== 'refused';
  const model = serves && id !== undefined ? compilation.snapshot.models.get(id) : undefined;
  const { statements, routes } = modelConditions({ verdict, model, backends, notice, replicas, now });
  const { ready, total } = routes;
  return judged(object, {
    ...{ verdict, notice, statements, now },
    fields: {
      routes: { ready, total, summary: `${ready}/${total}` },
      retireAt: notice === undefined ? null : instantText(notice.leavesAt),
      announcedAt: notice === undefined ? null : instantText(notice.announcedAt),
      announcedFor: notice?.announcedFor === undefined ? null : instantText(notice.announcedFor),
    },
  });
}

function judgeBackend(object: KubeObject, options: JudgeOptions): ObjectJudgement | undefined {
  const { compilation, replicas, now } = options;
  const verdict = compilation.verdicts.get(object.declared);
  if (verdict === undefined) return undefined;
  const backend = compilation.backends.get(object.name);
  const routes = routesOf(compilation.snapshot).get(object.name) ?? [];
  const statements = backendConditions({ verdict, backend, routes, replicas });
  return judged(object, { ...{ verdict, statements, now }, notice: undefined, fields: {} });
}

function judged(
  object: KubeObject,
  made: Pick<ObjectJudgement, 'verdict' | 'notice'> & {
    readonly statements: Parameters<typeof conditionsOf>[0];
    readonly fields: Readonly<Record<string, unknown>>;
    readonly now: number;
  },
): ObjectJudgement {
  const { verdict, notice, statements, fields, now } = made;
  const { generation } = object;
  const before = readStatus(object.status);
  const after = conditionsOf(statements, before.conditions, { generation, now });
  const status = { observedGeneration: generation, conditions: after, ...fields };
  const differs = readStatus(status).text !== before.text;
  return { object, verdict, notice, status, before: before.conditions, after, differs };
}

/** What is needed of a spec that may be out of order. */
function specOf({ declared }: KubeObject): { readonly id: string | undefined; readonly backends: readonly string[] } {
  const spec = isFields(declared.value) && isFields(declared.value['spec']) ? declared.value['spec'] : {};
  const routes: readonly unknown[] = Array.isArray(spec['routes']) ? spec['routes'] : [];
  return {
    id: typeof spec['id'] === 'string' ? spec['id'] : undefined,
    backends: routes.map((route) => (isFields(route) ? String(route['backend']) : '')),
  };
}

const routesOnce = createRemembered<Snapshot, ReadonlyMap<string, readonly Route[]>>();

/** The routes of all models, by their backend. */
function routesOf(snapshot: Snapshot): ReadonlyMap<string, readonly Route[]> {
  return routesOnce(snapshot, [], () => {
    const all = [...snapshot.models.values()].flatMap(({ routes }) => routes);
    return Map.groupBy(all, ({ backend }) => backend.name);
  });
}
