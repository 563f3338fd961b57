import { isIP, SocketAddress } from 'node:net';
import type { LookUp } from '../../core/address.ts';
import type { CancelTimer, Clock } from '../../core/clock.ts';
import {
  authorityOf,
  type Endpoint,
  endpointName,
  type FollowEndpoints,
  type HostPort,
  type HostsSource,
  type Scheme,
} from '../../core/endpoint.ts';

const refreshMs = 5_000;
const retryMs = 1_000;

/** After this time, the known hosts are reported without the others. */
const firstWithinMs = 1_000;

/**
 * Most look-ups at a time, over all names. Each occupies a thread of libuv's pool, which has four for everything. Names
 * whose last look-up failed are looked up one at a time, because that can take many seconds.
 */
const maxLookUps = 2;

/**
 * A name that had addresses loses them only after this many empty answers in a row: a name server that starts may not
 * know names for a moment.
 */
const emptyAnswersToBelieve = 2;

/** One name, for all sources that have it. */
interface HostName {
  readonly host: string;
  readonly users: Set<() => void>;
  /** Sorted. Undefined: no look-up has succeeded yet. */
  addresses: readonly string[] | undefined;
  /** Whether a look-up has ended, well or not. */
  wasLookedUp: boolean;
  /** Whether the last look-up failed. */
  isFailing: boolean;
  /** How many answers in a row had no address. */
  emptyAnswers: number;
  cancel: CancelTimer;
}

interface HostLookUps {
  readonly clock: Clock;
  readonly lookUp: LookUp;
}

/**
 * Follows the addresses of host names: every address is an endpoint with the port of its host. A name is looked up
 * every 5 s, and 1 s after a failure. If the look-up fails, the last addresses stay. An IP address is known at once.
 */
export function createHostFollower(options: HostLookUps): FollowEndpoints<HostsSource> {
  const { clock } = options;
  const names = createHostNames(options);
  return ({ hosts }, { scheme, onFound }) => {
    let reported: readonly string[] | undefined;
    let isWaiting = true;

    function report(): void {
      if (isWaiting && [...used.values()].some(({ wasLookedUp }) => !wasLookedUp)) return;
      stopWaiting();
      const endpoints = endpointsOf(hosts, {
        scheme,
        addressesOf: (host) => used.get(host)?.addresses ?? addressIn(host),
      });
      const now = endpoints.map(({ name, authority }) => `${name} ${authority}`);
      if (reported !== undefined && isSame(reported, now)) return;
      reported = now;
      onFound({ endpoints, trouble: endpoints.length > 0 ? undefined : troubleOf([...used.values()]) });
    }

    const used = new Map(
      hosts.filter(({ host }) => isIP(host) === 0).map(({ host }) => [host, names.use(host, report)] as const),
    );
    const cancelTimeout = clock.after(firstWithinMs, () => {
      isWaiting = false;
      report();
    });
    function stopWaiting(): void {
      isWaiting = false;
      cancelTimeout();
    }

    report();
    names.work();
    return () => {
      cancelTimeout();
      for (const name of used.values()) names.leave(name, report);
    };
  };
}

/** Looks up the names that are in use. */
function createHostNames({ clock, lookUp }: HostLookUps) {
  const names = new Map<string, HostName>();
  const queue: HostName[] = [];
  let lookUps = 0;
  let failingLookUps = 0;

  /** Starts look-ups of names in the queue, as many as may run at once. */
  function work(): void {
    while (lookUps < maxLookUps) {
      const at = queue.findIndex(({ isFailing }) => !isFailing || failingLookUps === 0);
      const [name] = at === -1 ? [] : queue.splice(at, 1);
      if (name === undefined) return;
      void ask(name);
    }
  }

  async function ask(name: HostName): Promise<void> {
    const wasFailing = name.isFailing;
    lookUps += 1;
    if (wasFailing) failingLookUps += 1;
    const found = await lookUp(name.host).catch(() => undefined);
    lookUps -= 1;
    if (wasFailing) failingLookUps -= 1;
    // If this is false, the name is no longer followed, or was removed and added again.
    if (names.get(name.host) === name) take(name, found);
    work();
  }

  function take(name: HostName, found: readonly string[] | undefined): void {
    const isEmpty = found !== undefined && found.length === 0;
    name.isFailing = found === undefined;
    name.emptyAnswers = isEmpty ? name.emptyAnswers + 1 : 0;
    name.cancel = clock.after(isEmpty || name.isFailing ? retryMs : refreshMs, () => {
      queue.push(name);
      work();
    });
    const isFirst = !name.wasLookedUp;
    name.wasLookedUp = true;
    const isDoubtful = isEmpty && name.addresses !== undefined && name.emptyAnswers < emptyAnswersToBelieve;
    const isNew = found !== undefined && !isDoubtful;
    if (isNew) name.addresses = [...new Set(found)].toSorted();
    if (isNew || isFirst) for (const report of name.users) report();
  }

  function use(host: string, report: () => void): HostName {
    let name = names.get(host);
    if (name === undefined) {
      name = {
        host,
        users: new Set(),
        ...{ addresses: undefined, wasLookedUp: false, isFailing: false, emptyAnswers: 0 },
        cancel: () => undefined,
      };
      names.set(host, name);
      queue.push(name);
    }
    name.users.add(report);
    return name;
  }

  function leave(name: HostName, report: () => void): void {
    name.users.delete(report);
    if (name.users.size > 0) return;
    name.cancel();
    names.delete(name.host);
    const at = queue.indexOf(name);
    if (at !== -1) queue.splice(at, 1);
  }

  return { use, leave, work };
}

function endpointsOf(
  hosts: readonly HostPort[],
  options: { readonly scheme: Scheme; readonly addressesOf: (host: string) => readonly string[] },
): readonly Endpoint[] {
  const endpoints = new Map<string, Endpoint>();
  for (const at of hosts) {
    const authority = authorityOf(at, options.scheme);
    for (const address of options.addressesOf(at.host)) {
      const name = endpointName(address, at.port);
      // Two names may lead to one address: it is one endpoint, and calls to it use the first name.
      if (!endpoints.has(name)) endpoints.set(name, { name, address, port: at.port, authority, zone: undefined });
    }
  }
  return [...endpoints.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The address of a host that is written as an address, in Envoy's spelling. */
function addressIn(host: string): readonly string[] {
  const version = isIP(host);
  if (version === 0) return [];
  return [version === 4 ? host : new SocketAddress({ address: host, family: 'ipv6' }).address];
}

function troubleOf(names: readonly HostName[]): string {
  const faults = names.map(({ host, addresses }) =>
    addresses === undefined ? `"${host}" cannot be resolved` : `"${host}" has no address`,
  );
  return `spec.endpoint${names.length === 1 ? '.host' : 's'}: ${faults.join(', ')}`;
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((value, at) => value === b[at]);
}
