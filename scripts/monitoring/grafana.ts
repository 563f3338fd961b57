import {
  LegendDisplayMode,
  LegendPlacement,
  ReduceDataOptionsBuilder,
  SortOrder,
  TooltipDisplayMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import {
  DashboardBuilder,
  DashboardCursorSync,
  DatasourceVariableBuilder,
  type GridPos,
  QueryVariableBuilder,
  RowBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as TimeseriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries';
import type { Dashboard, Panel } from './queries.ts';

const datasource = { type: 'prometheus', uid: '${datasource}' };
const panelHeight = 8;
const gridColumns = 24;
const widths: Readonly<Record<Panel['kind'], number>> = { lines: 8, stat: 4 };

/**
 * A dashboard as the JSON that Grafana imports, built with Grafana's own package: a field that there is not, or with a value that it
 * does not take, does not compile.
 */
export function grafanaJson({ uid, title, description, variables, rows }: Dashboard): string {
  const built = new DashboardBuilder(title)
    .uid(uid)
    .description(description)
    .tags(['weir'])
    .readonly()
    .tooltip(DashboardCursorSync.Crosshair)
    .timezone('browser')
    .refresh('30s')
    .time({ from: 'now-1h', to: 'now' })
    .withVariable(new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'));
  for (const choice of [{ label: 'namespace', metric: 'weir_build_info' }, ...variables]) {
    built.withVariable(choiceOf(choice));
  }
  let id = 0;
  let y = 0;
  for (const row of rows) {
    built.withRow(new RowBuilder(row.title).id((id += 1)).gridPos({ h: 1, w: gridColumns, x: 0, y }));
    y += 1;
    let x = 0;
    for (const panel of row.panels) {
      const w = widths[panel.kind];
      // The builder's own layout lets the last panel of a line overflow.
      if (x + w > gridColumns) [x, y] = [0, y + panelHeight];
      built.withPanel(panelOf(panel, { id: (id += 1), at: { h: panelHeight, w, x, y } }));
      x += w;
    }
    y += panelHeight;
  }
  return `${JSON.stringify(built.build(), undefined, 2)}\n`;
}

/** On one machine nothing has a namespace, and `.*` matches what is not there. */
function choiceOf({ label, metric }: { readonly label: string; readonly metric: string }): QueryVariableBuilder {
  return new QueryVariableBuilder(label)
    .label(label)
    .datasource(datasource)
    .query(`label_values(${metric}, ${label})`)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc)
    .includeAll(true)
    .allValue('.*')
    .current({ text: 'All', value: '$__all' });
}

function panelOf(
  { kind, title, description, unit, queries }: Panel,
  { id, at }: { readonly id: number; readonly at: GridPos },
): TimeseriesBuilder | StatBuilder {
  const panel = kind === 'lines' ? linesPanel() : statPanel();
  panel.id(id).gridPos(at).title(title).description(description).datasource(datasource).unit(unit);
  for (const [index, { expr, legend }] of queries.entries()) {
    const refId = String.fromCodePoint('A'.charCodeAt(0) + index);
    panel.withTarget(new DataqueryBuilder().refId(refId).datasource(datasource).expr(expr).legendFormat(legend));
  }
  return panel;
}

/** Every line has its name below, and the tooltip has all of them, the highest first. */
function linesPanel(): TimeseriesBuilder {
  return new TimeseriesBuilder()
    .min(0)
    .legend(
      new VizLegendOptionsBuilder()
        .showLegend(true)
        .displayMode(LegendDisplayMode.List)
        .placement(LegendPlacement.Bottom),
    )
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending));
}

/** The value of now, not an average of the period. */
function statPanel(): StatBuilder {
  return new StatBuilder().reduceOptions(new ReduceDataOptionsBuilder().calcs(['lastNotNull']));
}
