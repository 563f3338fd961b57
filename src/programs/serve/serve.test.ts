import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { flagsOfService } from './serve.ts';

it("V8 knows the service's flags", () => {
  const known = execFileSync(process.execPath, ['--v8-options'], { encoding: 'utf8' });
  const names = flagsOfService.map((flag) => flag.replace(/^--(no-)?/, '').replace(/=.*/, ''));
  expect(names.filter((name) => !known.includes(`  --${name} (`))).toEqual([]);
});
