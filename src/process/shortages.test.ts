// @suite apart
import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { isShortage, keepLast } from './shortages.ts';

const shortage = (code = 'EMFILE'): Error =>
  Object.assign(new Error(code), { code, syscall: 'uv_resident_set_memory' });

it.each([
  ['EMFILE of a system call', shortage(), true],
  ['ENFILE of a system call', shortage('ENFILE'), true],
  ['EAGAIN of a system call, as for one process too many', shortage('EAGAIN'), true],
  ['another fault of a system call', shortage('EACCES'), false],
  ['an error without a system call', Object.assign(new Error('EMFILE'), { code: 'EMFILE' }), false],
  ['a fault of the program', new TypeError('x is not a function'), false],
  ['no error', 'EMFILE', false],
])('%s: is it a shortage?', (_, error, expected) => {
  expect(isShortage(error)).toBe(expected);
});

it('a reading keeps its last value during a shortage, and throws any other error', () => {
  let step: () => number = () => 7;
  const read = keepLast(() => step(), 0);
  expect(read()).toBe(7);
  step = () => {
    throw shortage();
  };
  expect(read()).toBe(7);
  step = () => 9;
  expect(read()).toBe(9);
  step = () => {
    throw new TypeError('broken');
  };
  expect(read).toThrow('broken');
});

/** Runs a program to its end. `survive` stands for the import of the function under test. */
function run(program: string): { readonly code: number | null; readonly output: string; readonly error: string } {
  const module = new URL('shortages.ts', import.meta.url).href;
  const ended = spawnSync(process.execPath, ['--input-type=module', '-e', program.replaceAll('MODULE', module)], {
    encoding: 'utf8',
  });
  return { code: ended.status, output: ended.stdout, error: ended.stderr };
}

const survive = `
import { surviveShortages } from 'MODULE';
surviveShortages(({ message }) => console.log('reported', message));`;

/** The places in which nothing catches an error. */
const places = {
  'a timer': 'setTimeout(() => { throw shortage(); }, 0);',
  'an event':
    "const { EventEmitter } = await import('node:events'); setImmediate(() => new EventEmitter().emit('error', shortage()));",
  'a promise': 'void Promise.reject(shortage());',
};
const end = `
const shortage = () => Object.assign(new Error('none left'), { code: 'EMFILE', syscall: 'accept' });
setTimeout(() => console.log('alive'), 20);`;

it.each(Object.entries(places))(
  'the process survives a shortage in %s, and dies of it without the guard',
  (_, place) => {
    expect(run(`${survive}${end}${place}`)).toMatchObject({ code: 0, output: 'reported none left\nalive\n' });
    const unguarded = run(`${end}${place}`);
    expect(unguarded).toMatchObject({ code: 1, output: '' });
    expect(unguarded.error).toContain('none left');
  },
);

/** A program that starts a thread, which throws this error in a timer. The thread runs until it hears of the report. */
const withThread = (start: string, error: string): string => `
import { Worker } from 'node:worker_threads';
import { startWorker } from '${new URL('worker-thread.ts', import.meta.url).href}';
import { surviveShortages } from 'MODULE';
const script = \`import { parentPort } from 'node:worker_threads';
  setTimeout(() => { throw ${error}; }, 0);
  parentPort.once('message', () => parentPort.postMessage('alive'));\`;
surviveShortages(({ message }) => thread.postMessage(message));
const thread = ${start}(new URL('data:text/javascript,' + encodeURIComponent(script)));
thread.on('message', (message) => console.log(message));
thread.on('error', ({ message }) => console.log('ended by', message));`;
const thrown = "Object.assign(new Error('none left'), { code: 'EMFILE', syscall: 'open' })";

it('a thread survives a shortage, which the main thread reports, and ends with it if it was started otherwise', () => {
  expect(run(withThread('startWorker', thrown))).toMatchObject({ code: 0, output: 'alive\n', error: '' });
  expect(run(withThread('new Worker', thrown)).output).toBe('ended by none left\n');
});

it('a thread still ends with any other error that nothing handles', () => {
  expect(run(withThread('startWorker', "new TypeError('broken')")).output).toBe('ended by broken\n');
});

it('only the newest report is used, and the older ones again after it', () => {
  const program = `
import { surviveShortages } from 'MODULE';
const shortage = () => Object.assign(new Error('none left'), { code: 'EMFILE', syscall: 'accept' });
const fail = () => new Promise((done) => setTimeout(() => { setTimeout(done, 0); throw shortage(); }, 0));
const before = process.listenerCount('uncaughtException');
const endFirst = surviveShortages(() => console.log('first'));
const endSecond = surviveShortages(() => console.log('second'));
await fail();
endSecond();
await fail();
endFirst();
console.log(process.listenerCount('uncaughtException') - before);`;
  expect(run(program)).toMatchObject({ code: 0, output: 'second\nfirst\n0\n' });
});

it('the process still ends with any other error that nothing handles, and prints its stack', () => {
  const ended = run(`${survive}${end}setTimeout(() => { throw new TypeError('broken'); }, 0);`);
  expect(ended).toMatchObject({ code: 1, output: '' });
  expect(ended.error).toContain('TypeError: broken\n    at ');
});

it.runIf(process.platform === 'linux')(
  'the load is measured while no file can be opened; without the guard the timer ends the process',
  () => {
    const program = (guarded: boolean): string => `
import { openSync, closeSync } from 'node:fs';
import { createProcessLoad } from '${new URL('load.ts', import.meta.url).href}';
const open = [];
try { for (;;) open.push(openSync('/dev/null')); } catch {}
const read = ${guarded ? 'createProcessLoad({ memoryLimitBytes: 1, collectFromShare: 1e12 }).current' : 'process.memoryUsage'};
setTimeout(() => {
  const found = read();
  for (const file of open) closeSync(file);
  console.log('alive', typeof found);
}, 300);`;
    const limited = (guarded: boolean) =>
      spawnSync(
        'sh',
        ['-c', 'ulimit -n 64; exec "$0" --input-type=module -e "$1"', process.execPath, program(guarded)],
        {
          encoding: 'utf8',
        },
      );
    expect(limited(true)).toMatchObject({ status: 0, stdout: 'alive object\n' });
    expect(limited(false)).toMatchObject({ status: 1, stdout: '' });
  },
);
