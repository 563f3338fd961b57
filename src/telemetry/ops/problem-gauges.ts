import { Gauge, type Registry } from 'prom-client';
import { type Problem, problemKinds } from '../../core/problem.ts';

/** Problems with a series of their own: each series stays in Prometheus for as long as it keeps anything. */
const mostNamed = 100;

/** Adds the current problems: how many there are of each kind, and the most urgent ones by name. */
export function addProblemGauges(registry: Registry, read: () => readonly Pick<Problem, 'object' | 'kind'>[]): void {
  new Gauge({
    name: 'weir_problem',
    help: `1 for each current problem, as \`weir problems\` lists them; the ${mostNamed} most urgent ones.`,
    registers: [registry],
    labelNames: ['object', 'kind'] as const,
    collect() {
      this.reset();
      for (const { object, kind } of read().slice(0, mostNamed)) this.set({ object, kind }, 1);
    },
  });
  new Gauge({
    name: 'weir_problems',
    help: 'How many current problems there are of each kind.',
    registers: [registry],
    labelNames: ['kind'] as const,
    collect() {
      const byKind = Map.groupBy(read(), ({ kind }) => kind);
      for (const kind of problemKinds) this.set({ kind }, byKind.get(kind)?.length ?? 0);
    },
  });
}
