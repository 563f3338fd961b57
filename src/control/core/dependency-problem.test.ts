import { expect, it } from 'vitest';
import type { DependencyCause } from '../../core/dependency-cause.ts';
import { dependencyProblem } from './dependency-problem.ts';

it.each<[dependency: 'events' | 'webhook', cause: DependencyCause, action: string]>([
  [
    'events',
    'credential-refused',
    'Give the receiver and WEIR_EVENTS_SECRET_FILE the same secret: docs/how-to/events.md#enable-events',
  ],
  ['events', 'credential-missing', 'Correct the file and its rights: docs/how-to/events.md#enable-events'],
  ['events', 'no-such-path', 'Correct the path in WEIR_EVENTS_URL: docs/how-to/events.md#delivery'],
  [
    'webhook',
    'credential-refused',
    'Give the receiver and WEIR_WEBHOOK_SECRET_FILE the same secret: docs/how-to/alerts.md#the-webhook',
  ],
])(
  'the advice for the receiver of %s with the cause %s names what is wrong, and the page about it',
  (dependency, cause, action) => {
    expect(dependencyProblem({ dependency, cause, reason: '' })?.action).toBe(action);
  },
);
