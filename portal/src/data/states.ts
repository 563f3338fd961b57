import type { BackendObject, ModelObject } from '../../../src/portal/api/catalog.ts';
import type { IdentityObject } from '../../../src/portal/api/identities.ts';
import type { KeyObject } from '../../../src/portal/api/keys.ts';
import type { ServiceAccountObject } from '../../../src/portal/api/service-accounts.ts';
import type { UserObject } from '../../../src/portal/api/users.ts';
import type { WorkspaceObject } from '../../../src/portal/api/workspaces.ts';
import { formatMoment, formatUtcDay } from '../format/format.ts';
import type { Tone } from '../parts/states.tsx';

// The state of each object in words, as every page shows it.

export interface State {
  readonly word: string;
  readonly tone: Tone;
}

const good = (word: string): State => ({ word, tone: 'good' });
const warn = (word: string): State => ({ word, tone: 'warn' });
const bad = (word: string): State => ({ word, tone: 'bad' });
const none = (word: string): State => ({ word, tone: 'none' });

/** Whether requests with the key are refused because its budget is spent. */
function isSpent({ budget, spent, not_enforced: names }: KeyObject): boolean {
  return budget !== null && names?.includes('budget') !== true && Number(spent) >= Number(budget.limit);
}

export function keyState(key: KeyObject, now = Date.now()): State {
  if (key.status === 'revoked') return none('Revoked');
  if (key.expires_at !== null && Date.parse(key.expires_at) < now) return warn('Expired');
  if (key.status === 'suspended') return warn('Suspended');
  if (!isSpent(key)) return good('Active');
  return bad(
    key.budget_ends_at === null
      ? 'Budget spent'
      : `Budget spent until ${formatUtcDay(key.budget_ends_at.slice(0, 10))}`,
  );
}

export function workspaceState({ status, balance, credit_limit: limit }: WorkspaceObject): State {
  if (status === 'suspended') return warn('Suspended');
  return Number(balance) + Number(limit) > 0 ? good('Active') : bad('No balance');
}

const identityStates = { active: good('Accepted'), suspended: warn('Suspended'), revoked: none('Revoked') } as const;
export const identityState = ({ status }: IdentityObject): State => identityStates[status];

const accountStates = { active: good('Active'), expired: warn('Expired'), revoked: none('Revoked') } as const;
export const accountState = ({ status }: ServiceAccountObject): State => accountStates[status];

/** A user with a password may have a link to another one. */
export function userState({ has_password: hasJoined, invited_until: until }: UserObject, now = Date.now()): State {
  const link = until !== null && Date.parse(until) > now ? formatMoment(until) : undefined;
  if (hasJoined) return good(link === undefined ? 'Joined' : `Joined, new link until ${link}`);
  return link === undefined ? warn('Invitation expired') : none(`Invited until ${link}`);
}

/** The first condition that is not as it should be decides. */
export function backendState({ conditions, cause }: BackendObject): State {
  const statusOf = (name: string) => conditions.find(({ type }) => type === name)?.status;
  if (statusOf('Accepted') === 'False') return bad('Refused: has a mistake');
  if (statusOf('Programmed') === 'False') return bad('Refused by Envoy');
  if (statusOf('Healthy') === 'False') return bad(`Not healthy: ${cause ?? 'has no endpoint for requests'}`);
  if (statusOf('Healthy') !== 'True') return none('Unknown');
  return conditions.some(({ reason }) => reason === 'SomeEndpointsFail')
    ? warn('Some endpoints fail')
    : good('Healthy');
}

/** A model that nobody has tried may have any state. */
export function modelState(model: ModelObject): State {
  const { state, availability, first_token_ms_p50: first, tokens_per_second_p50: speed } = model;
  if (state === 'unavailable') return bad('Unavailable');
  if (state === 'degraded') return warn('Degraded');
  return [availability, first, speed].every((figure) => figure === null) ? none('Unknown') : good('Available');
}
