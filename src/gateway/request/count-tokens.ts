import type { PreparedRequest } from '../../core/prompt.ts';
import type { Snapshots } from '../../control/catalog/snapshots.ts';
import type { Plan } from '../core/plan.ts';
import { estimatePrompt } from '../metering/estimate-prompt.ts';
import { neverSeen } from '../routing/health/route-status.ts';
import { type AcceptServices, type AdmittedRequest, readPrompt } from './accept-request.ts';
import { countingOf, planRequest, type PlanServices } from './plan-request.ts';
import { requestIdHeaders } from './reply.ts';

/** The same prompt has the same count, whatever the health of the routes is now. */
const anyHealth = { health: neverSeen, affinityOf: () => undefined, random: () => 0 };

/**
 * Answers with the tokens of a prompt, as the first route of its model gets it (docs/reference/endpoints.md §4.4). Throws the refusals that
 * a message with this prompt would get. No engine is called.
 */
export async function answerCount(
  request: AdmittedRequest,
  services: AcceptServices & PlanServices & { readonly snapshots: Pick<Snapshots, 'current'> },
): Promise<void> {
  const { exchange, dialect, admitted } = request;
  const prepared = await readPrompt(request, services);
  try {
    const snapshot = services.snapshots.current();
    const plan = planRequest({ request, prepared, snapshot }, { ...services, ...anyHealth });
    const body = JSON.stringify({ input_tokens: await countOf(prepared, plan, request) });
    const id = requestIdHeaders(dialect, exchange.head);
    exchange.reply(200, [['content-type', 'application/json'], ...id, ...admitted.headers()], body);
  } finally {
    prepared.release();
  }
}

/**
 * The count by the model's tokenizer, which also decides whether a prompt fits the window. A prompt that does not fit is counted until
 * that is certain. Where the tokenizer cannot count, the estimate, which errs low.
 */
async function countOf(
  prepared: PreparedRequest,
  plan: Plan,
  request: Pick<AdmittedRequest, 'credential'>,
): Promise<number> {
  const { model } = plan;
  const counting = countingOf(plan, request);
  const count = counting && (await prepared.countPrompt({ ...counting, want: 'count', limit: model.contextLength }));
  if (count?.kind === 'counted') return count.tokens;
  const estimate = estimatePrompt(prepared.shape, { ...model, contextLength: Number.MAX_SAFE_INTEGER });
  return count?.kind === 'over' ? Math.max(count.atLeast, estimate) : estimate;
}
