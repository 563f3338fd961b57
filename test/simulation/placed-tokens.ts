import type { Chance } from '../programmable-engine/chance.ts';
import { eachAccount, leavingAccount, movingAccount, slowAccount, wholeAccount } from './accounts.ts';
import { type IssuerEvent, type OperatorEvent, type RequestEvent, tokenFlaws } from './events.ts';
import { one } from './rare-events.ts';

/** On every service of a world. */
const everywhere = [0, 1, 2, 3] as const;
/** A moment after which a change counts, and one at which every clock has passed the same end. */
const [changedMs, endedMs] = [1_600, 14_000];

/** Requests with tokens at the bounds of promises: at their end, after a change of their identity, and beside a change of their issuer. */
export function placeTokens({
  ask,
  add,
  somewhere,
  chance,
}: {
  readonly ask: (at: number, fields: Pick<RequestEvent, 'key'> & Partial<RequestEvent>) => void;
  readonly add: (event: OperatorEvent | IssuerEvent) => void;
  readonly somewhere: () => number;
  readonly chance: Chance;
}): void {
  const askEverywhere = (at: number, key: number, apartMs = 0): void => {
    for (const service of everywhere) ask(at + service * apartMs, { key, service });
  };

  // The first ones of a subject, or those after a rotation, come to all services at once.
  for (const key of [wholeAccount, eachAccount, eachAccount + 1]) {
    const at = somewhere();
    askEverywhere(at, key);
    add({ kind: 'issuer', at: at + 4_000, change: 'rotates' });
    askEverywhere(at + 4_000 + chance() * 100, key, 5);
  }
  // With its leeway, a token ends at this moment, before a stream or in it.
  const end = somewhere() + 65_000;
  for (const beforeMs of [40_000, 900, 200, -changedMs, -endedMs, -endedMs - 1_500])
    askEnding(end - beforeMs, end - 60_000);
  function askEnding(at: number, endsAt: number): void {
    ask(at, { key: eachAccount, token: { endsAt }, words: 40, readsPerMs: 0.5 });
  }
  for (const flaw of tokenFlaws) ask(somewhere(), { key: eachAccount, token: { flaw } });

  // Services that have served the token long before, and those that have it from a moment ago.
  for (const workspace of [5, 4, 5]) {
    const at = somewhere();
    askEverywhere(at - 20_000, movingAccount);
    add({ kind: 'payer', at, key: movingAccount, workspace });
    // Some services have not been asked since.
    for (const later of chance() < 0.5 ? [changedMs] : [300, changedMs]) askEverywhere(at + later, movingAccount, 3);
  }
  const leavesAt = somewhere();
  const leaves: readonly (readonly [afterMs: number, status: 'active' | 'suspended' | 'revoked'])[] = [
    [0, 'suspended'],
    [8_000, 'active'],
    [20_000, 'revoked'],
  ];
  for (const [afterMs, status] of leaves) {
    const at = leavesAt + afterMs;
    for (const later of [-300, changedMs])
      for (const key of [leavingAccount, leavingAccount + 1]) askEverywhere(at + later, key, 3);
    add({ kind: 'key-status', at, key: leavingAccount, status });
  }
  for (const key of [wholeAccount, eachAccount]) {
    const at = somewhere();
    add({ kind: 'budget', at, key, picoUsd: one(['1000000000', '1'], chance) });
    add({ kind: 'budget', at: at + 10_000, key, picoUsd: '9000000000' });
    for (const later of [-4_000, 0, changedMs, 12_000]) askEverywhere(at + later, key);
  }
  const [burstAt, gapMs] = [somewhere(), 5 + chance() * 60];
  for (let index = 0; index < 13; index += 1) ask(burstAt + gapMs * index, { key: slowAccount });
  for (const change of ['dead', 'silent'] as const) {
    const at = somewhere();
    ask(at - 3_000, { key: wholeAccount });
    add({ kind: 'issuer', at, change, forMs: 2_000 + chance() * 60_000 });
    for (const later of [100, 1_500, 40_000]) ask(at + later, { key: one([wholeAccount, eachAccount], chance) });
    if (chance() < 0.5) add({ kind: 'issuer', at: at + 1_000, change: 'rotates' });
  }
}
