import { expect, it } from 'vitest';
import { createProgram } from './program.ts';
import { createScheduler } from './scheduler.ts';

it('keeps the order of what falls due in a pause that begins in another one', async () => {
  const scheduler = createScheduler();
  const program = createProgram('service', scheduler, 0);
  const order: string[] = [];
  const note = (text: string): void => void order.push(`${text} at ${scheduler.now()}`);
  program.deliver(20, () => note('first'));
  program.deliver(60, () => note('second'));
  program.deliver(110, () => note('third'));
  scheduler.after(10, () => program.pause(40));
  scheduler.after(30, () => program.pause(100));
  await scheduler.runUntil(200, () => undefined);
  expect(order).toEqual(['first at 130', 'second at 130', 'third at 130']);
});

it('runs nothing of a program that was killed in a pause', async () => {
  const scheduler = createScheduler();
  const program = createProgram('service', scheduler, 0);
  let hasRun = false;
  program.deliver(20, () => {
    hasRun = true;
  });
  program.pause(40);
  scheduler.after(30, program.kill);
  await scheduler.runUntil(200, () => undefined);
  expect({ hasRun, waiting: program.waiting() }).toEqual({ hasRun: false, waiting: 0 });
});

it('lets time pass for a timer that is armed again for next to nothing', async () => {
  const scheduler = createScheduler();
  const { time } = createProgram('service', scheduler, 0);
  await scheduler.runUntil(1_533_992.2259346289, () => undefined);
  const firedAt: number[] = [];
  time.after(1e-10, () => {
    firedAt.push(scheduler.now());
    time.after(1.7, () => firedAt.push(scheduler.now()));
  });
  await scheduler.runUntil(1_534_000, () => undefined);
  expect(firedAt.map((at) => Math.round(at - 1_533_992.2259346289))).toEqual([1, 2]);
});

it('does not run for ever where virtual time stands still', async () => {
  const scheduler = createScheduler();
  const again = (): void => void scheduler.after(0, again);
  again();
  await expect(scheduler.runUntil(1, () => undefined)).rejects.toThrow('virtual time stands still at 0 ms');
});
