import { type BackendDemand, isActive, neededEndpoints } from './backend-demand.ts';

/** Path on the ops port, before the name of a Backend. Like the metrics, it needs no token. */
export const scalePath = '/scale/';

/** The answer to an autoscaler: how many endpoints a Backend needs, by the requests of the whole gateway. */
export interface BackendScale {
  readonly backend: string;
  /** Zero exactly if the Backend is not active. */
  readonly needed_endpoints: number;
  readonly active: boolean;
  readonly replicas: number;
  /** Replicas whose requests are counted. The others are assumed to have as many. */
  readonly reporting_replicas: number;
}

/** Why there is no answer. Never zero in place of it: engines would end because their number is not known. */
export type NoScale = 'no-catalog' | 'no-backend' | 'incomplete';

export interface GatewayDemand {
  /** Of the replicas that reported. */
  readonly demands: readonly BackendDemand[];
  readonly replicas: number;
  /** How many of them reported, this one included. */
  readonly reporting: number;
  /** Whether these are all that there are. */
  readonly isWhole: boolean;
}

/** The least that an active Backend needs. Autoscalers read any number above zero as active. */
const minActive = 0.01;

/** Zero only if all replicas have reported. If some have not, requests are assumed to be spread evenly. */
export function scaleOf(
  backend: string,
  { demands, replicas, reporting, isWhole }: GatewayDemand,
): BackendScale | 'incomplete' {
  const active = demands.filter(isActive);
  if (active.length === 0 && !isWhole) return 'incomplete';
  const needed = neededEndpoints(active, Math.max(1, replicas / reporting));
  return {
    backend,
    needed_endpoints: active.length === 0 ? 0 : Math.max(minActive, needed),
    active: active.length > 0,
    replicas,
    reporting_replicas: reporting,
  };
}
