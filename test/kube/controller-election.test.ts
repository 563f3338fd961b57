// @suite long
/** Of several replicas one writes; when it is killed another does, when it ends it hands over. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { makeNamespace } from './support/cluster.ts';
import { objectsIn } from './support/objects.ts';

const program = join(import.meta.dirname, 'support', 'replica-process.ts');
const kubernetes = inject('kubernetes');

interface Replica {
  readonly name: string;
  readonly child: ChildProcess;
  readonly said: () => string;
}

let cluster: ReturnType<typeof objectsIn>;
let namespace: string;
const replicas: Replica[] = [];

async function start(name: string): Promise<Replica> {
  const child = spawn(process.execPath, [program, kubernetes.kubeconfig, namespace, name], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  const replica = { name, child, said: () => text };
  replicas.push(replica);
  await expect.poll(replica.said, polling).toContain('joined');
  return replica;
}

async function end({ child }: Replica, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}

beforeEach(async () => {
  namespace = await makeNamespace(kubernetes);
  cluster = objectsIn(kubernetes, namespace);
  await cluster.backend('vllm-a');
  await cluster.model('good');
});
afterEach(async () => {
  for (const replica of replicas.splice(0)) await end(replica, 'SIGKILL');
});

const polling = { interval: 50 };
async function untilLed(name: string): Promise<void> {
  await expect.poll(async () => (await cluster.leases())['weir-controller'], polling).toMatch(new RegExp(`^${name}_`));
}
async function untilSaid(condition: RegExp): Promise<void> {
  await expect.poll(() => cluster.condition('backends', 'vllm-a', 'Programmed'), polling).toMatch(condition);
}

test('the leader is killed: another one writes the status', async () => {
  const first = await start('weir-0');
  await untilLed('weir-0');
  const second = await start('weir-1');
  await untilSaid(/in the Envoy of all 2 replicas/);
  expect(second.said()).not.toContain('leading');

  await end(first, 'SIGKILL');
  const killedAt = performance.now();
  await cluster.model('made-after');
  await expect.poll(() => cluster.condition('models', 'made-after', 'Accepted'), polling).toBe('True Accepted');
  const tookMs = performance.now() - killedAt;
  console.log(`status written by another replica after ${Math.round(tookMs)} ms`);
  // The word of the one that was killed has run out: nobody waits for its Envoy any more.
  await untilSaid(/^True Programmed: in Envoy$/);
});

test('a leader that ends hands over at once, and takes back its word', async () => {
  const first = await start('weir-0');
  await untilLed('weir-0');
  await start('weir-1');
  await untilSaid(/in the Envoy of all 2 replicas/);
  await end(first, 'SIGTERM');
  // Nobody has to wait until the lease has run out: it was given up before the end.
  expect((await cluster.leases())['weir-controller']).not.toMatch(/^weir-0_/);
  await untilLed('weir-1');
  await untilSaid(/^True Programmed: in Envoy$/);
  expect(Object.keys(await cluster.leases()).sort()).toEqual(['weir-controller', 'weir-replica-weir-1']);
});

test('a leader that is frozen and comes back after another took over does not write again', async () => {
  const first = await start('weir-0');
  await untilLed('weir-0');
  await start('weir-1');
  await untilSaid(/in the Envoy of all 2 replicas/);
  first.child.kill('SIGSTOP');
  await untilLed('weir-1');
  first.child.kill('SIGCONT');
  await untilSaid(/in the Envoy of all 2 replicas/);
  await untilLed('weir-1');
});
