import type { Dashboard, Panel } from './queries.ts';

const datasource = { type: 'prometheus', uid: '${datasource}' };
const panelHeight = 8;
const gridColumns = 24;

/** A dashboard as the JSON that Grafana imports (dashboard schema 42, https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/). */
export function grafanaJson(dashboard: Dashboard): string {
  const { uid, title, description, variables, rows } = dashboard;
  const panels: object[] = [];
  let y = 0;
  for (const row of rows) {
    panels.push({
      ...{ type: 'row', title: row.title, collapsed: false, panels: [], id: panels.length + 1 },
      gridPos: { h: 1, w: gridColumns, x: 0, y },
    });
    y += 1;
    let x = 0;
    for (const panel of row.panels) {
      const w = panel.kind === 'lines' ? 8 : 4;
      if (x + w > gridColumns) [x, y] = [0, y + panelHeight];
      panels.push({ ...panelJson(panel), id: panels.length + 1, gridPos: { h: panelHeight, w, x, y } });
      x += w;
    }
    y += panelHeight;
  }
  const choices = [{ label: 'namespace', metric: 'weir_build_info' }, ...variables];
  return `${JSON.stringify(
    {
      ...{ uid, title, description, tags: ['weir'], schemaVersion: 42, editable: false, graphTooltip: 1 },
      ...{ timezone: 'browser', refresh: '30s', time: { from: 'now-1h', to: 'now' } },
      templating: { list: [datasourceChoice, ...choices.map(choiceJson)] },
      ...{ annotations: { list: [] }, links: [], panels },
    },
    undefined,
    2,
  )}\n`;
}

const datasourceChoice = { type: 'datasource', name: 'datasource', label: 'Data source', query: 'prometheus' };

/** On one machine nothing has a namespace, and `.*` matches what is not there. */
function choiceJson({ label, metric }: { readonly label: string; readonly metric: string }): object {
  const query = `label_values(${metric}, ${label})`;
  return {
    ...{ type: 'query', name: label, label, datasource, query, refresh: 2, sort: 1 },
    ...{ includeAll: true, allValue: '.*', multi: false, current: { text: 'All', value: '$__all' } },
  };
}

function panelJson({ kind, title, description, unit, queries }: Panel): object {
  return {
    type: kind === 'lines' ? 'timeseries' : 'stat',
    ...{ title, description, datasource },
    fieldConfig: { defaults: kind === 'lines' ? { unit, min: 0 } : { unit }, overrides: [] },
    targets: queries.map(({ expr, legend }, index) => ({
      ...{ refId: String.fromCodePoint('A'.charCodeAt(0) + index), datasource, expr, legendFormat: legend },
    })),
  };
}
