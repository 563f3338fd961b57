/** What KEDA and the autoscaler of Kubernetes do with the values that a trigger of the type metrics-api reads. */
export interface Autoscaler {
  /** The replicas that the deployment should have from now on. */
  readonly look: (now: number, value: number) => number;
}

export interface AutoscalerOptions {
  /** `targetValue` of the trigger: the value for each replica. */
  readonly target: number;
  readonly maxReplicas: number;
  /** KEDA's `cooldownPeriod`: so long after the last activity the last replica ends. */
  readonly cooldownMs: number;
  /** `scaleDown.stabilizationWindowSeconds`: the greatest number of replicas that was wanted for so long counts. */
  readonly stabilizationMs: number;
  /** `scaleUp.stabilizationWindowSeconds`: the least number of replicas that was wanted for so long counts. */
  readonly upStabilizationMs: number;
}

/** The autoscaler changes nothing for a smaller difference, as a share of the target. */
const tolerance = 0.1;
/** By default the autoscaler at most doubles the replicas, or adds so many, in one step. */
const addedAtOnce = 4;

/** The algorithm of an HorizontalPodAutoscaler with one external metric of the type AverageValue, from zero on by KEDA. */
export function createAutoscaler({
  target,
  maxReplicas,
  cooldownMs,
  stabilizationMs,
  upStabilizationMs,
}: AutoscalerOptions): Autoscaler {
  let replicas = 0;
  let activeAt = -Infinity;
  let wanted: readonly { readonly at: number; readonly replicas: number }[] = [];
  return {
    look: (now, value) => {
      // KEDA's `activationTargetValue` is zero by default.
      const isActive = value > 0;
      if (isActive) activeAt = now;
      if (replicas === 0) {
        wanted = [];
        replicas = isActive ? 1 : 0;
        return replicas;
      }
      if (now - activeAt > cooldownMs) {
        replicas = 0;
        return replicas;
      }
      const ratio = value / (target * replicas);
      const wish = Math.abs(ratio - 1) <= tolerance ? replicas : Math.ceil(value / target);
      const bounded = Math.min(maxReplicas, Math.max(1, wish));
      wanted = [...wanted.filter(({ at }) => now - at < stabilizationMs), { at: now, replicas: bounded }];
      const down = Math.max(...wanted.map((one) => one.replicas));
      const up = Math.min(...wanted.flatMap((one) => (now - one.at <= upStabilizationMs ? [one.replicas] : [])));
      if (up > replicas) replicas = Math.min(up, Math.max(2 * replicas, replicas + addedAtOnce));
      else if (down < replicas) replicas = down;
      return replicas;
    },
  };
}
