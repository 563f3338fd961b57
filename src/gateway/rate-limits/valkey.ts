import { hash } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import type { Limits } from '../../core/limits.ts';
import type { ValkeyAddress } from '../../core/valkey-address.ts';
import type { Tallies } from './memory.ts';
import { createSharedLimits, type SharedLimits } from './shared-limits.ts';
import { openValkeyClient, type ValkeyClient } from './valkey-client.ts';
import { createValkeyLink, type ValkeyLink, type ValkeyLinkOptions } from './valkey-link.ts';

/** Limits that hold for the sum of all replicas, on one Valkey or on a cluster. */
export interface ValkeyLimits extends Limits {
  /** The state of all servers together. They are up if all of them answer. */
  readonly link: Pick<ValkeyLink, 'isUp' | 'failure' | 'replicas' | 'late' | 'close'>;
  /** The link for keys that all workspaces share. */
  readonly common: ValkeyLink;
  /** The amounts reserved for this replica's own requests, by workspace. */
  readonly reserved: Tallies['reserved'];
}

export interface ValkeyLimitsOptions extends Omit<ValkeyLinkOptions, 'onUp' | 'onDown'> {
  readonly address: ValkeyAddress;
  readonly clock: Clock;
  /** `onUp` is called when all servers can be asked, `onDown` when the first of them cannot be asked any more. */
  readonly onUp: () => void;
  readonly onDown: () => void;
  /** For tests: the time, in place of the server's. */
  readonly timeMs?: () => number;
  /** Absent: connects to the address. */
  readonly connect?: ((address: ValkeyAddress) => ValkeyClient) | undefined;
  /** Runs a function at the end of this turn of the event loop. */
  readonly nextTurn?: ((run: () => void) => void) | undefined;
}

/**
 * The hash tags of a cluster. Each workspace has one, by the first digit of a SHA-1. The slots of the tags lie in the middle of
 * sixteenths of all slots, so that servers with equally many slots have equally many tags, give or take one. The tags must not
 * change, because replicas with other tags would not count together.
 */
export const clusterTags = [
  ...['u0', 'qp', 'dj', 'wz', 'd2', 'pv', 'uh', 'iy'],
  ...['ly', 'h9', 'uv', 'q6', '9s', 'qn', 'dt', 'ha'],
] as const;

/** Number of the hash tag of a workspace. */
export function tagNumber(workspaceId: string): number {
  return Number.parseInt(hash('sha1', workspaceId).slice(0, 1), 16);
}

/** The limits of one hash tag, or of all workspaces if one server has all. */
interface Part {
  readonly link: ValkeyLink;
  readonly limits: SharedLimits;
}

/**
 * Connects, and keeps trying. While a server is down, each replica applies its share of the limits of its workspaces.
 */
export function createValkeyLimits({ address, timeMs, onUp, onDown, ...options }: ValkeyLimitsOptions): ValkeyLimits {
  const { connect = openValkeyClient, nextTurn = setImmediate } = options;
  const client = connect(address);
  const parts = (address.kind === 'server' ? [undefined] : clusterTags).map(makePart);
  const [first] = parts;
  if (first === undefined) throw new Error('there is no part');
  let isReportedDown = false;

  function makePart(tag: string | undefined): Part {
    const link = createValkeyLink(client, tag, {
      ...options,
      onUp: () => {
        limits.tellAll();
        if (!isUp()) return;
        isReportedDown = false;
        onUp();
      },
      onDown: () => {
        if (isReportedDown) return;
        isReportedDown = true;
        onDown();
      },
    });
    const limits = createSharedLimits(link, { clock: options.clock, replicas, timeMs, nextTurn });
    return { link, limits };
  }

  function isUp(): boolean {
    return parts.every(({ link }) => link.isUp());
  }

  /** The number of replicas, by the links that are up. A link that is down may have an old number. */
  function replicas(): number {
    const known = parts.filter(({ link }) => link.isUp());
    return Math.max(...(known.length > 0 ? known : parts).map(({ link }) => link.replicas()));
  }

  const partOf = (workspaceId: string): Part =>
    (parts.length === 1 ? undefined : parts[tagNumber(workspaceId)]) ?? first;
  return {
    admit: (ask) => partOf(ask.workspaceId).limits.admit(ask),
    reserved: () => new Map(parts.flatMap(({ limits }) => [...limits.reserved()])),
    common: first.link,
    link: {
      isUp,
      failure: () => parts.map(({ link }) => link.failure()).find((failure) => failure !== undefined),
      replicas,
      late: () => parts.reduce((sum, { link }) => sum + link.late(), 0),
      close: async () => {
        await Promise.all(parts.map(({ link }) => link.close()));
        client.close();
      },
    },
  };
}
