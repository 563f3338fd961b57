/** The problems of callers without keys: Identities that let nobody in, and tokens that are refused. */
import { identityFaults, type RefusedTokens, type TokenFault } from '../../core/identity.ts';
import type { Finding } from './kinds.ts';
import type { ObservedCondition } from './object-problems.ts';

export interface ObservedIdentities {
  /** Conditions of the objects that declare accounts and have one that is False, by `Identity/NAMESPACE/NAME`. */
  readonly faulty: ReadonlyMap<string, readonly ObservedCondition[]>;
  readonly refused: readonly RefusedTokens[];
}

const maxMessageLength = 400;
const page = 'docs/how-to/identities.md#refused-tokens';

/** Actions against refused tokens, by the fault. */
const actions: Readonly<Partial<Record<TokenFault, string>>> = {
  'other-audience': 'Request the token with the Identity’s audience, or correct spec.audience',
  'no-identity': "Correct spec.match, or the tags, of the Identity; compare them with the token's claims",
  'no-workspace': 'Create the workspace, or correct the Identity',
  expired: 'Let the program read the token again for each request',
  'not-yet-valid': 'Correct the issuer’s clock, or this machine’s',
};

/** These pass by themselves, are wanted, or are the text of another condition. */
const unlisted: ReadonlySet<string> = new Set(['NotAccepted', 'WorkspaceNotReady', 'Suspended', 'Revoked']);
const faults: ReadonlySet<string> = new Set(identityFaults);

export function identityProblems({ faulty, refused }: ObservedIdentities): readonly Finding[] {
  return [
    ...[...faulty].flatMap(([id, conditions]) => (id.startsWith('Identity/') ? ofObject(id, conditions) : [])),
    ...refused.map(ofTokens),
  ];
}

function ofObject(object: string, conditions: readonly ObservedCondition[]): readonly Finding[] {
  const found = conditions.filter(({ status, reason }) => status === 'False' && !unlisted.has(reason));
  return found.map(({ reason, message }) => ({
    ...{ object, kind: 'identity-refused', detail: reason },
    problem: `${faults.has(reason) ? 'Its tokens let nobody in' : 'Refused'}: ${message.slice(0, maxMessageLength)}.`,
    action: `Correct what the message names: ${page}`,
  }));
}

function ofTokens({ issuer, fault, reason, count }: RefusedTokens): Finding {
  const lately = count === 1 ? 'a token' : `${count} tokens`;
  return {
    ...{ object: 'tokens', kind: 'identity-refused', detail: `${issuer} ${fault}` },
    problem: `Refused ${lately} of ${issuer} lately (${fault}): ${reason.slice(0, maxMessageLength)}.`,
    action: `${actions[fault] ?? 'Look in the log'}: ${page}`,
  };
}
