import { describe, expect, it } from 'vitest';
import { idleFigures } from '../../../test/support/idle-figures.ts';
import { sampleEnd } from '../../../test/support/sample-end.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { createSlices } from '../../process/turns.ts';
import { formatFor } from './exposition.ts';
import { createMetrics } from './metrics.ts';

describe('the format of a scrape', () => {
  it.each([
    [undefined, 'prometheus'],
    ['', 'prometheus'],
    ['*/*', 'prometheus'],
    ['text/*', 'prometheus'],
    ['text/html, application/xml;q=0.9', 'prometheus'],
    ['application/openmetrics-text', 'openmetrics'],
    ['application/openmetrics-text;version=1.0.0;q=0.3', 'openmetrics'],
    ['application/openmetrics-text;q=0', 'prometheus'],
    ['APPLICATION/OpenMetrics-Text ; Q=0.5 , text/plain ; q=0.4', 'openmetrics'],
    // Of equals the first; what is named goes before what would do, too.
    ['text/plain, application/openmetrics-text', 'prometheus'],
    ['application/openmetrics-text, text/plain', 'openmetrics'],
    ['*/*, application/openmetrics-text;q=0.5', 'openmetrics'],
    [',;q="', 'prometheus'],
    // Prometheus 2.30, 2.42, 3, 3 with native histograms, and 3 where its own format was asked for.
    ['application/openmetrics-text; version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1', 'openmetrics'],
    [
      'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
      'openmetrics',
    ],
    [
      'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2',
      'openmetrics',
    ],
    [
      'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1',
      'openmetrics',
    ],
    ['text/plain;version=0.0.4;q=0.6,application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.2', 'prometheus'],
  ] as const)('for Accept: %s is %s', (accept, format) => {
    expect(formatFor(accept)).toBe(format);
  });
});

describe('exemplars', () => {
  function counted() {
    const figures = idleFigures({ catalog: () => ({ models, servedAt: 0, routes: [] }) });
    const metrics = createMetrics(figures, { inSlices: createSlices() });
    for (const [requestId, traceId] of [
      ['chatcmpl-1', undefined],
      ['chatcmpl-2', 'abcdef0123456789abcdef0123456789'],
    ] as const) {
      const outcome = sampleOutcome({ requestId, modelId: 'a/b', durationMs: 300, firstTokenMs: 50 });
      metrics.outcome(outcome);
      metrics.ended(sampleEnd({ ...{ requestId, traceId, modelId: 'a/b', kind: 'completed', outcome } }));
    }
    return metrics;
  }
  const models = new Map([['a/b', undefined]]);

  it('name the last request of each bucket, and its trace, for scrapers that ask for OpenMetrics', async () => {
    const text = await counted().render('openmetrics');
    const named = text.split('\n').filter((line) => line.includes(' # {'));
    expect(named.map((line) => line.replace(/\{.*?\} (\d+) # /, ' $1 # ').replace(/ [\d.]+$/, ''))).toEqual([
      ...['request_duration', 'time_to_first_token', 'time_per_output_token'].map((what) =>
        expect.stringMatching(
          new RegExp(
            `^gen_ai_server_${what}_seconds_bucket 2 # \\{request_id="chatcmpl-2",trace_id="abcdef0123456789abcdef0123456789"\\} 0\\.\\d+$`,
          ),
        ),
      ),
    ]);
    expect(text).toMatch(
      /^# HELP weir_requests Requests.*\n# TYPE weir_requests counter\nweir_requests_total\{.*\} 2$/m,
    );
    expect(text).not.toMatch(/^# \w+ \w+_total /m);
    expect(text).not.toMatch(/\n\n/);
    expect(text).toMatch(/\n# EOF\n$/);
  });

  it('are in no other text, which has the same series', async () => {
    const metrics = counted();
    const [plain, open] = [await metrics.render('prometheus'), await metrics.render('openmetrics')];
    expect(plain).not.toMatch(/chatcmpl|abcdef|EOF/);
    expect(plain).toMatch(/^# TYPE weir_requests_total counter$/m);
    const seriesOf = (text: string): readonly string[] =>
      [...text.matchAll(/^((?:weir|gen_ai)_\w+(?:\{.*?\})?) /gm)].map(([, series = '']) => series);
    expect(seriesOf(plain).length).toBeGreaterThan(80);
    expect(seriesOf(open)).toEqual(seriesOf(plain));
    // The library renames counters when it renders them in a registry of the other format: a second text is the same.
    expect(seriesOf(await metrics.render('prometheus'))).toEqual(seriesOf(plain));
  });
});
