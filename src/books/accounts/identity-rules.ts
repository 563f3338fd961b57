import { messageOf } from '../../core/failure.ts';
import { clusterIssuer, identityBounds, type IdentityRules, issuerPattern } from '../../core/identity.ts';
import { listBounds } from '../../core/limits.ts';
import { isOneLine } from '../../core/one-line.ts';
import { tagNameOf } from '../../core/tags.ts';
import type { SomeIdentityRules } from '../core/identity.ts';
import { refusal } from '../core/operator-refusals.ts';

const { maxIssuerLength, maxAudienceLength, maxMatch } = identityBounds;

/**
 * Throws a `Refusal` that names the field and says what was expected. `given`: the fields that are set. `all`: those that the
 * identity has then.
 */
export async function checkIdentityRules(
  given: SomeIdentityRules,
  all: Pick<IdentityRules, 'issuer' | 'isBound'>,
): Promise<void> {
  const fault = faultOf(given) ?? boundFault(all) ?? (await faultOfRules(given));
  if (fault === undefined) return;
  const [field, reason] = fault;
  throw refusal('identity_malformed', { field, reason }, { field });
}

type Fault = readonly [field: string, reason: string];

function faultOf({ issuer, audience, match, workspace, tags = {} }: SomeIdentityRules): Fault | undefined {
  const payer = workspace !== undefined && 'name' in workspace ? workspace.name : undefined;
  const lines = Object.entries({ issuer, audience, workspace: payer });
  const broken = lines.find(([, text]) => text !== undefined && !isOneLine(text));
  if (broken !== undefined) return [broken[0], 'expected one line without control characters'];
  if (issuer !== undefined && (!issuerPattern.test(issuer) || issuer.length > maxIssuerLength)) {
    return ['issuer', `expected "${clusterIssuer}" or an address with https://, without a query`];
  }
  if (audience !== undefined && (audience === '' || audience.length > maxAudienceLength)) {
    return ['audience', `expected 1 to ${maxAudienceLength} characters`];
  }
  if (match !== undefined && (match.length === 0 || match.length > maxMatch)) {
    return ['match', `expected 1 to ${maxMatch} expressions, found ${match.length}`];
  }
  if (payer === '') {
    return ['workspace', 'expected the name of a workspace'];
  }
  const names = Object.keys(tags);
  const { maxRequestTags } = listBounds;
  if (names.length > maxRequestTags) return ['tags', `expected at most ${maxRequestTags}, found ${names.length}`];
  const unnamed = names.find((name) => tagNameOf(name) === undefined);
  return unnamed === undefined ? undefined : ['tags', `"${unnamed}" cannot be the name of a tag`];
}

const boundFault = ({ issuer, isBound }: Pick<IdentityRules, 'issuer' | 'isBound'>): Fault | undefined =>
  isBound && issuer !== clusterIssuer
    ? ['bound', `expected the issuer "${clusterIssuer}": no other issuer answers a TokenReview`]
    : undefined;

async function faultOfRules({ match = [], workspace, tags = {} }: SomeIdentityRules): Promise<Fault | undefined> {
  const rules: readonly Fault[] = [
    ...match.map((text) => ['match', text] as const),
    ...(workspace !== undefined && 'claim' in workspace ? [['workspace_claim', workspace.claim] as const] : []),
    ...Object.values(tags).map((text) => ['tags', text] as const),
  ];
  if (rules.length === 0) return undefined;
  // CEL takes a tenth of a second to load, and most commands need none.
  const { compileRule } = await import('../../core/claim-rule.ts');
  for (const [field, text] of rules) {
    try {
      compileRule(text);
    } catch (error) {
      return [field, `${JSON.stringify(text)}: ${messageOf(error)}`];
    }
  }
  return undefined;
}
