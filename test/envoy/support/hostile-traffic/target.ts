/** The gateway that is attacked, and what its callers need to know of it. */
export interface Target {
  readonly port: number;
  /** Served by good engines, which everybody shares. */
  readonly model: string;
  /** Served by an engine that means harm. */
  readonly hostileModel: string;
  /** Keys of the neighbours, each of a workspace of its own. */
  readonly neighbourKeys: readonly string[];
  /** A key of one more workspace with the usual limits: an attacker may be a customer. */
  readonly attackerKey: string;
}

export const host = '127.0.0.1';

/** A loopback address of its own for each caller: what is counted by address must not fall on others. */
export const addressOf = (kind: 'neighbour' | 'attacker', index: number): string =>
  `127.0.${kind === 'neighbour' ? 1 : 2}.${index + 1}`;
