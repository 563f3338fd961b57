import type { Registry } from 'prom-client';
import type { FailingDependency } from '../../core/dependency-cause.ts';
import { labelledGaugesOf } from './declare.ts';

/** Adds the programs on which this one depends and that fail it, each with its cause. */
export function addDependencyGauge(registry: Registry, failing: () => readonly FailingDependency[]): void {
  labelledGaugesOf(registry)(
    'weir_dependency_failing',
    '1 while a program that Weir depends on fails, with its cause (docs/operate/problems.md).',
    ['dependency', 'cause'],
    () => failing().map(({ dependency, cause }) => [{ dependency, cause }, 1]),
  );
}
