import { Gauge, type Registry } from 'prom-client';
import type { FailingDependency } from '../../core/dependency-cause.ts';

/** Adds the programs on which this one depends and that fail it, each with its cause. */
export function addDependencyGauge(registry: Registry, failing: () => readonly FailingDependency[]): void {
  new Gauge({
    name: 'weir_dependency_failing',
    help: '1 while a program that Weir depends on fails, with its cause (docs/problems.md).',
    registers: [registry],
    labelNames: ['dependency', 'cause'] as const,
    collect() {
      this.reset();
      for (const { dependency, cause } of failing()) this.set({ dependency, cause }, 1);
    },
  });
}
