import {
  type Dependency,
  dependencyAction,
  dependencySays,
  type FailingDependency,
} from '../../core/dependency-cause.ts';

/** The functions that are missing while a program fails, and the page about it. */
const effects: Readonly<Record<Exclude<Dependency, 'database'>, { readonly effect: string; readonly page: string }>> = {
  valkey: {
    effect: 'each replica keeps to its share of the limits',
    page: 'docs/operate/runbooks.md#weirlimitsnotshared',
  },
  webhook: { effect: 'alerts wait, and are tried again for a day', page: 'docs/how-to/alerts.md#the-webhook' },
  events: { effect: 'events wait, and are sent again until it accepts them', page: 'docs/how-to/events.md#delivery' },
  'web-search': { effect: 'searches fail', page: 'docs/how-to/web-search.md#for-operators' },
  tracing: { effect: 'spans are dropped', page: 'docs/operate/tracing.md#collector-outages' },
  'identity-provider': { effect: 'nobody can sign in with it', page: 'docs/how-to/portal.md#with-openid-connect' },
  'token-issuer': {
    effect: 'its keys stay as they were, and tokens with new ones are refused',
    page: 'docs/how-to/identities.md#verification',
  },
};

/** Where the secret of events is set up, for the causes that it has. */
const eventsSecret = 'docs/how-to/events.md#enable-events';

/** The problem of a program that fails. Undefined: the database, whose problem has figures of its own. */
export function dependencyProblem({ dependency, ...failure }: FailingDependency) {
  if (dependency === 'database') return undefined;
  const { effect, page } = effects[dependency];
  const isOfSecret = failure.cause === 'credential-refused' || failure.cause === 'credential-missing';
  return {
    object: dependency,
    kind: dependency === 'valkey' ? ('valkey-down' as const) : ('dependency-failing' as const),
    cause: failure.cause,
    problem: `${dependencySays(failure)}: ${effect}.`,
    action: `${dependencyAction(failure, dependency)}: ${dependency === 'events' && isOfSecret ? eventsSecret : page}`,
  };
}
