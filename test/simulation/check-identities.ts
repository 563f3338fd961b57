import type { SettledRequest } from '../../src/core/settled-request.ts';
import { tagsIn, tagText } from '../../src/core/tags.ts';
import { accountOf, keyPlans, tagsOf, togetherWith } from './accounts.ts';
import type { Call } from './caller.ts';
import { believed } from './key-states.ts';
import { maxJumpMs } from './operator.ts';
import type { World } from './world-view.ts';

/** By how much clocks of services and issuer may differ (docs/how-to/identities.md). */
const leewayMs = 60_000;

/** Whether the token of a request lets its caller in. `may`: it ends about now, or the issuer is away. */
export function letsIn({ event, startedAt, endedAt }: Call, world: World): 'yes' | 'may' | 'no' {
  const { flaw, endsAt } = event.token ?? {};
  if (flaw !== undefined) return 'no';
  const skewMs = world.plan.events.some(({ kind }) => kind === 'clock-jump') ? maxJumpMs : 0;
  if (endsAt !== undefined) {
    const end = Math.floor((world.plan.startsAt + endsAt) / 1_000) * 1_000 - world.plan.startsAt + leewayMs;
    if (startedAt >= end + skewMs) return 'no';
    if (endedAt() >= end - skewMs) return 'may';
  }
  // A key that was published meanwhile is not known.
  return isIssuerAway(world, startedAt, endedAt()) ? 'may' : 'yes';
}

export const isIssuerAway = ({ issuerSpells }: World, from: number, until: number): boolean =>
  issuerSpells.some(([begin, end]) => begin <= until && end >= from);

/** What is wrong with whom a row bills, and with its tags. */
export function payerFaults(row: SettledRequest, call: Call, world: World): readonly string[] {
  const { event } = call;
  const number = world.keys.findIndex(({ id, later }) => id === row.keyId || later?.id === row.keyId);
  const faults: string[] = [];
  const account = accountOf(event.key);
  const workspace = keyPlans[number]?.workspace ?? -1;
  if (world.workspaceIds[workspace] !== row.workspaceId)
    faults.push(`key ${number} bills workspace ${world.workspaceIds.indexOf(row.workspaceId)}`);
  if (account === undefined || typeof account.identity.payer === 'string' || account.identity.each === 'subject') {
    if (number !== event.key) faults.push(`key ${event.key} was asked with, and ${number} pays`);
  } else {
    const [first] = togetherWith(event.key);
    const { startedAt, endedAt } = call;
    const known = { first: account.identity.payer, changes: world.payerChanges, spells: world.spells };
    const payers = believed(`key ${first}`, known, { startedAt, endedAt: endedAt() });
    if (!togetherWith(event.key).includes(number) || !payers.has(workspace))
      faults.push(`workspace ${workspace} pays, expected one of ${[...payers].join(', ')}`);
  }
  const sent = tagsIn(tagsOf(event.id));
  const own = Object.entries(account?.identity.tags ?? {}).map(([name, claim]) => ({
    name,
    value: claim === 'sub' ? (account?.subject ?? '') : (account?.identity.name ?? ''),
  }));
  const others = sent.filter(({ name }) => own.every((tag) => tag.name !== name));
  const expected = [...others, ...own].map(tagText).toSorted().join(',');
  if ((row.tags ?? '') !== expected) faults.push(`the tags ${row.tags}, expected ${expected}`);
  return faults;
}
