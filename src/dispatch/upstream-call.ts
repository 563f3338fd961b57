import type { Resume, Round } from '../core/capability.ts';
import type { PlannedRoute } from '../core/plan.ts';
import type { PreparedRequest } from '../core/prompt.ts';
import type { UpstreamCall } from '../core/upstream.ts';

interface CallOptions {
  readonly affinity?: string | undefined;
  readonly resume?: Resume | undefined;
  readonly round?: Round | undefined;
}

/** The upstream call that carries a request to a route's engine; with `resume`, to go on with one choice of its answer. */
export function upstreamCall(
  prepared: PreparedRequest,
  { route, target }: PlannedRoute,
  { affinity, resume, round }: CallOptions = {},
): UpstreamCall | Promise<UpstreamCall> {
  const { backend } = route;
  const call = {
    cluster: backend.cluster.name,
    backend: backend.cluster.backend,
    authority: backend.authority,
    path: `${backend.path}/chat/completions`,
    accept: prepared.request.stream ? 'text/event-stream' : 'application/json',
    ...(affinity === undefined ? {} : { affinity }),
    ...(backend.authorization === undefined ? {} : { authorization: backend.authorization }),
  } as const;
  const body = prepared.bodyFor(
    resume === undefined && round === undefined
      ? target
      : { ...target, ...(resume === undefined ? {} : { resume }), ...(round === undefined ? {} : { round }) },
  );
  return body instanceof Promise ? body.then((bytes) => ({ ...call, body: bytes })) : { ...call, body };
}
