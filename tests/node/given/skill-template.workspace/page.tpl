<h1>{{ title | upper }}</h1>
{{#each items}}
<li>{{index}}: {{name}} {{ price | money }}{{#if sale}} SALE{{else}} full{{/if}}</li>
{{/each}}
{{{raw}}} {{ when | date }} {{missing}} {{ author.name }}
