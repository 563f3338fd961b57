import { readdirSync, readFileSync } from 'node:fs';

/** What a process holds: proc_pid_fd(5), proc_pid_status(5). */
export interface ProcessFigures {
  readonly descriptors: number;
  readonly residentBytes: number;
}

/** Looks at a living process. */
export function figuresOf(pid: number): ProcessFigures {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return { descriptors: readdirSync(`/proc/${pid}/fd`).length, residentBytes: Number(kilobytes) * 1024 };
}
